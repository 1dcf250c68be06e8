package io.rdmaraw.microbench.report;

import java.util.ArrayList;
import java.util.List;

/**
 * Maps values to coordinates of a chart, on a linear or a logarithmic scale.
 *
 * @param least   smallest value on the axis
 * @param largest largest value on the axis
 * @param from    coordinate of the smallest value
 * @param to      coordinate of the largest value
 */
record Axis(double least, double largest, double from, double to, boolean logarithmic) {
    /**
     * Returns an axis that includes the values and ends at a round number. A linear axis starts at 0. A logarithmic
     * axis starts at a power of ten.
     */
    static Axis of(List<Double> values, double from, double to, boolean logarithmic) {
        double largest = values.stream().mapToDouble(Double::doubleValue).max().orElse(1);
        double least = values.stream().mapToDouble(Double::doubleValue).filter(v -> v > 0).min().orElse(1);
        if (logarithmic) {
            return new Axis(Math.pow(10, Math.floor(Math.log10(least))), Math.pow(10, Math.ceil(Math.log10(Math.max(
                    largest, least * 1.01)))), from, to, true);
        }
        double step = step(largest == 0 ? 1 : largest);
        return new Axis(0, Math.ceil(largest / step - 1e-9) * step, from, to, false);
    }

    private static double step(double largest) {
        double power = Math.pow(10, Math.floor(Math.log10(largest / 4)));
        double digits = largest / 4 / power;
        return power * (digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10);
    }

    double place(double value) {
        double share = logarithmic ? Math.log(Math.max(value, least) / least) / Math.log(largest / least)
                : (value - least) / (largest - least);
        return from + (to - from) * share;
    }

    List<Double> ticks() {
        List<Double> ticks = new ArrayList<>();
        if (logarithmic) {
            for (double tick = least; tick <= largest * 1.001; tick *= 10) {
                ticks.add(tick);
            }
            return ticks;
        }
        double step = step(largest);
        for (double tick = 0; tick <= largest + step / 2; tick += step) {
            ticks.add(tick);
        }
        return ticks;
    }
}
