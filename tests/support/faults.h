// Fault injection: makes the k-th allocation or file call of the code under test fail, or end the
// process, so that a loop over k visits every way in which memory and disks say no.
//
// A test that uses it says include(${CMAKE_SOURCE_DIR}/tests/support/faults.cmake) in its .cmake
// file; the linker then routes the calls of the test program through the wrappers here.
#ifndef WK_TESTS_FAULTS_H
#define WK_TESTS_FAULTS_H

#include <stdbool.h>

/// What happens at the chosen call.
typedef struct fault_plan {
    long call;       // 1 is the first counted call; 0 only counts
    bool persistent; // every call from then on fails, not only that one
    bool crash;      // instead of failing, the process ends there with FAULT_CRASH_CODE
    int error;       // errno of failing file calls; 0 means EIO
    bool short_io;   // reads and writes move one byte at a time; not counted as a fault
} fault_plan;

enum { FAULT_CRASH_CODE = 77 };

/// Starts counting calls and injecting what the plan says.
void faults_arm(fault_plan plan);

/// Stops; whether the chosen call was reached.
bool faults_disarm(void);

/// Calls counted since faults_arm.
long faults_calls(void);

/// Blocks allocated less blocks freed since faults_arm.
long faults_live_blocks(void);

/// Files opened less files closed since faults_arm.
long faults_open_files(void);

#endif
