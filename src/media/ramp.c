// The colour ramp of maps and heat maps, from dark blue to yellow, by interpolation between fixed
// colours.
#include "media/image.h"

#include <math.h>

uint32_t wk_image_ramp(double level)
{
    static const double stops[5][3] = {
        {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    double place = fmin(fmax(level, 0), 1) * 4;
    int at = place >= 4 ? 3 : (int)place;
    uint32_t colour = 0;
    for (int c = 0; c < 3; c++) {
        double part = place - at, value = stops[at][c] * (1 - part) + stops[at + 1][c] * part;
        colour = colour << 8 | (uint32_t)lround(value);
    }
    return colour;
}
