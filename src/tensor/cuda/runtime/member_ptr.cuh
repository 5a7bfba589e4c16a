// Device pointers of kernels. On the host a pointer holds the address of the launch's first member;
// a kernel that uses it gets the address of the member that its block works for, blockIdx.z. Raw
// pointers are no arguments of kernels.
#ifndef WK_TENSOR_CUDA_RUNTIME_MEMBER_PTR_CUH
#define WK_TENSOR_CUDA_RUNTIME_MEMBER_PTR_CUH

#include "tensor/cuda/runtime/population.h"

#include <cuda_runtime.h>
#include <stdint.h>

/// A T * that differs from member to member. NULL for one is NULL for all.
template <class T> struct wk_ptr {
    T *base; // the first member's

    wk_ptr() = default;
    __host__ __device__ wk_ptr(decltype(nullptr)) : base(nullptr) {}
    explicit wk_ptr(T *first) : base(first) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U *, T *>>>
    __host__ __device__ wk_ptr(wk_ptr<U> other) : base(nullptr)
    {
        base = other.base;
    }

    __host__ __device__ explicit operator bool() const
    {
        return base != nullptr;
    }

    /// The same address as another type.
    template <class U> __host__ __device__ wk_ptr<U> as() const
    {
        wk_ptr<U> other;
        other.base = (U *)base;
        return other;
    }

    template <class N, class = std::enable_if_t<std::is_integral_v<N>>>
    __host__ __device__ wk_ptr operator+(N n) const
    {
        wk_ptr moved;
        moved.base = base + n;
        return moved;
    }

    /// For the alignment, which all members have in common.
    explicit operator uintptr_t() const
    {
        return (uintptr_t)base;
    }

    /// This block's member's address as another type; the pointer is not NULL.
    template <class U = T> __device__ U *at() const
    {
        return (U *)((char *)base + ((size_t)blockIdx.z << WK_MEMBER_SHIFT));
    }

    __device__ operator T *() const
    {
        return base ? at() : nullptr;
    }

    template <class U> __device__ explicit operator U *() const
    {
        return base ? at<U>() : nullptr;
    }

    template <class N, class U = T, class = std::enable_if_t<std::is_integral_v<N>>>
    __device__ U &operator[](N i) const
    {
        return at()[i];
    }

    template <class U = T> __device__ U &operator*() const
    {
        return *at();
    }
};

#endif
