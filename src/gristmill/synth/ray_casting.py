"""The kernels that paint: rays against capsules, boxes and a textured table, compiled once and cached."""

from __future__ import annotations

import numba
import numpy as np

CAPSULE, BOX = 0, 1
TEXEL_M = 0.003  # size of one texel of the table's texture
NOISE_SIZE = 1 << 16
_NOISE_MASK = NOISE_SIZE - 1


@numba.njit(cache=True, fastmath=True, nogil=True)
def cast(
    out, eye, eye_rotation, scale, kinds, sizes, reach, colours, places, centre, to_solid, start, lamp, light, table,
    noise, offset, gain
):  # fmt: skip
    """Paint k frames of n solids into `out` (k, h, w, 3) uint8.

    The camera is at `eye` (k, 3) with the axes `eye_rotation` (k, 3, 3): right, up, backwards; `scale` is its
    focal length in pixels. Solids have `kinds` (n,), `sizes` (n, 3), bounding radii `reach` (n,), `colours`
    (n, 3) in [0, 1], `places` (k, n, 3) in the world and `centre` (k, n, 3) in the camera's frame. `to_solid`
    (k, n, 3, 3) turns from the camera's frame to a solid's, in which the eye is at `start` (k, n, 3) and the lamp
    in the direction `lamp` (k, n, 3); `light` (3,) is the latter in the world. `table` (m, m, 3) is the table top's
    brightness, tiled. Grey levels from `noise` are added, from `offset` (k,) on; `gain` is the exposure.
    """
    frames, height, width, _ = out.shape
    depth = np.empty((height, width), np.float64)
    image = np.empty((height, width, 3), np.float64)
    for k in range(frames):
        _cast_table(image, depth, eye[k], eye_rotation[k], scale, places[k], reach, light, table)
        for g in range(len(kinds)):
            distance = -centre[k, g, 2]
            if distance < reach[g] * 1.05:
                x0, x1, y0, y1 = 0, width, 0, height
            else:
                margin = scale * reach[g] / np.sqrt(distance * distance - reach[g] * reach[g]) + 1.5
                x = width / 2 + scale * centre[k, g, 0] / distance
                y = height / 2 - scale * centre[k, g, 1] / distance
                # A sphere seen off axis spreads along the line from the picture's middle.
                margin *= 1 + 0.5 * (abs(x - width / 2) + abs(y - height / 2)) / scale
                x0, x1 = max(0, int(x - margin)), min(width, int(x + margin) + 2)
                y0, y1 = max(0, int(y - margin)), min(height, int(y + margin) + 2)
            turn, source = to_solid[k, g], lamp[k, g]
            for row in range(y0, y1):
                for column in range(x0, x1):
                    u, v = (column + 0.5 - width / 2) / scale, -(row + 0.5 - height / 2) / scale
                    ray_x = turn[0, 0] * u + turn[0, 1] * v - turn[0, 2]
                    ray_y = turn[1, 0] * u + turn[1, 1] * v - turn[1, 2]
                    ray_z = turn[2, 0] * u + turn[2, 1] * v - turn[2, 2]
                    if kinds[g] == CAPSULE:
                        t, nx, ny, nz = _hit_capsule(start[k, g], ray_x, ray_y, ray_z, sizes[g, 0], sizes[g, 1])
                    else:
                        t, nx, ny, nz = _hit_box(start[k, g], ray_x, ray_y, ray_z, sizes[g])
                    if 0.004 < t < depth[row, column]:
                        depth[row, column] = t
                        lit = max(0.0, nx * source[0] + ny * source[1] + nz * source[2])
                        shade = 255.0 * (0.38 + 0.62 * lit)
                        for c in range(3):
                            image[row, column, c] = shade * colours[g, c]
        at = offset[k]
        for row in range(height):
            for column in range(width):
                for c in range(3):
                    value = image[row, column, c] * gain + noise[at & _NOISE_MASK]
                    at += 1
                    out[k, row, column, c] = int(min(255.0, max(0.0, value + 0.5)))


@numba.njit(cache=True, fastmath=True, nogil=True)
def _cast_table(image, depth, eye, rotation, scale, places, reach, light, table):
    """Table top with texture and shadows; above its edge a wall that darkens upwards."""
    height, width, _ = image.shape
    texels = table.shape[0]
    for row in range(height):
        for column in range(width):
            u, v = (column + 0.5 - width / 2) / scale, -(row + 0.5 - height / 2) / scale
            ray_x = rotation[0, 0] * u + rotation[0, 1] * v - rotation[0, 2]
            ray_y = rotation[1, 0] * u + rotation[1, 1] * v - rotation[1, 2]
            ray_z = rotation[2, 0] * u + rotation[2, 1] * v - rotation[2, 2]
            t = -eye[2] / ray_z if ray_z < -1e-6 else 1e8
            x, y = eye[0] + t * ray_x, eye[1] + t * ray_y
            if t < 1e8 and abs(x) < 0.75 and abs(y) < 0.75:
                shade = 205.0
                for g in range(len(reach)):
                    if places[g, 2] > 0.01:
                        # Each solid throws the shadow of its bounding ball, softened towards the rim.
                        slide = places[g, 2] / light[2]
                        dx, dy = x - places[g, 0] + slide * light[0], y - places[g, 1] + slide * light[1]
                        near = (dx * dx + dy * dy) / (reach[g] * reach[g])
                        if near < 0.5:
                            shade *= 0.72 + 0.56 * near
                i, j = int((x + 2.0) / TEXEL_M) % texels, int((y + 2.0) / TEXEL_M) % texels
                for c in range(3):
                    image[row, column, c] = shade * table[i, j, c]
                depth[row, column] = t
            else:
                depth[row, column] = 1e9
                bright = 120.0 - 40.0 * v
                stripe = 12.0 if (int((ray_y / (abs(ray_x) + 1e-6)) * 24.0 + 100.0) & 1) == 0 else 0.0
                image[row, column, 0] = bright - stripe
                image[row, column, 1] = bright + 4.0 - stripe
                image[row, column, 2] = bright + 12.0 - stripe


@numba.njit(cache=True, fastmath=True, nogil=True, inline="always")
def _hit_capsule(start, dx, dy, dz, radius, half):
    """Ray parameter and surface normal where a ray enters a capsule along z, or a parameter of -1."""
    ox, oy, oz = start[0], start[1], start[2]
    a = dx * dx + dy * dy
    b = ox * dx + oy * dy
    c = ox * ox + oy * oy - radius * radius
    inside = b * b - a * c
    if inside > 0.0 and a > 1e-12:
        t = (-b - np.sqrt(inside)) / a
        z = oz + t * dz
        if -half <= z <= half:
            return t, (ox + t * dx) / radius, (oy + t * dy) / radius, 0.0
        cap = half if z > half else -half
    else:
        cap = half if oz > 0 else -half
    oz -= cap
    a += dz * dz
    b += oz * dz
    c += oz * oz
    inside = b * b - a * c
    if inside <= 0.0:
        return -1.0, 0.0, 0.0, 0.0
    t = (-b - np.sqrt(inside)) / a
    return t, (ox + t * dx) / radius, (oy + t * dy) / radius, (oz + t * dz) / radius


@numba.njit(cache=True, fastmath=True, nogil=True, inline="always")
def _hit_box(start, dx, dy, dz, size):
    """Ray parameter and surface normal where a ray enters a box, or a parameter of -1."""
    enter, leave, axis = -1e9, 1e9, 0
    for i in range(3):
        d = dx if i == 0 else (dy if i == 1 else dz)
        if abs(d) < 1e-9:
            d = 1e-9
        near, far = (-size[i] - start[i]) / d, (size[i] - start[i]) / d
        if near > far:
            near, far = far, near
        if near > enter:
            enter, axis = near, i
        leave = min(leave, far)
    if enter > leave:
        return -1.0, 0.0, 0.0, 0.0
    d = dx if axis == 0 else (dy if axis == 1 else dz)
    sign = -1.0 if d > 0 else 1.0
    return enter, sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0
