package io.rdmaraw.testsuite.goodput;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The results of one sender on one path, in Mbit/s.
 *
 * @param kernel the kernel's results with the same seeds in the same order, or null if there is no comparison
 */
record GoodputRow(String name, String transport, List<Double> values, List<Double> kernel) {
    double median() {
        return median(values);
    }

    static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    /** Returns the ratio of each value to the other value at the same index. */
    static List<Double> ratios(List<Double> values, List<Double> others) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            ratios.add(values.get(i) / others.get(i));
        }
        return ratios;
    }

    static String json(List<GoodputRow> rows) {
        return "{\"bench\": \"tcp-goodput\", \"machine\": {\"processors\": "
                + Runtime.getRuntime().availableProcessors()
                + ", \"kernel\": \"" + System.getProperty("os.version") + "\"}, \"versions\": {\"java\": \""
                + System.getProperty("java.version") + "\"}, \"rows\": ["
                + String.join(", ", rows.stream().map(GoodputRow::json).toList()) + "]}";
    }

    private String json() {
        String text = String.format(Locale.ROOT, "{\"case\": \"%s\", \"transport\": \"%s\", \"device\": \"%s\", "
                + "\"unit\": \"Mbit/s\", \"min\": %.2f, \"median\": %.2f, \"max\": %.2f, \"runs\": %d", name, transport,
                transport.startsWith("sim") ? "none" : "veth", min(values), median(), max(values), values.size());
        if (kernel != null) {
            List<Double> ratios = ratios(values, kernel);
            text += String.format(Locale.ROOT, ", \"ratioTo\": \"%s\", \"ratioMin\": %.3f, "
                    + "\"ratioMedian\": %.3f, \"ratioMax\": %.3f", 
                    transport.replace("core-", "kernel-"), min(ratios), median(ratios), max(ratios));
        }
        return text + "}";
    }

    private static double min(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).min().orElseThrow();
    }

    private static double max(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    }
}
