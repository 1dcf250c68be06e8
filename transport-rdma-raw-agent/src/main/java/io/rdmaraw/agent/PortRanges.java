package io.rdmaraw.agent;

import java.util.ArrayList;
import java.util.List;

/** A set of ports, written as {@code all}, {@code none} or {@code 8080+9000-9010}. */
final class PortRanges {
    private static final int MAX_PORT = 65535;

    private record Range(int first, int last) {
    }

    private final String text;
    private final List<Range> ranges;

    private PortRanges(String text, List<Range> ranges) {
        this.text = text;
        this.ranges = ranges;
    }

    static PortRanges parse(String text) {
        if (text.equals("none")) {
            return new PortRanges(text, List.of());
        }
        if (text.equals("all")) {
            return new PortRanges(text, List.of(new Range(0, MAX_PORT)));
        }
        List<Range> ranges = new ArrayList<>();
        for (String part : text.split("\\+")) {
            int dash = part.indexOf('-');
            int first = port(dash < 0 ? part : part.substring(0, dash), text);
            int last = dash < 0 ? first : port(part.substring(dash + 1), text);
            if (first > last) {
                throw new IllegalArgumentException("its option listen has " + part + ", which ends before it begins");
            }
            ranges.add(new Range(first, last));
        }
        return new PortRanges(text, ranges);
    }

    private static int port(String number, String text) {
        try {
            int port = Integer.parseInt(number);
            if (port > 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException e) {
            // Reported below.
        }
        throw new IllegalArgumentException("its option listen is '" + text + "': '" + number + "' is not a port, 1 to "
                + MAX_PORT + "; write all, none or 8080+9000-9010");
    }

    /**
     * Returns whether a port is in one of the ranges. Port 0, which lets the system choose, is included only in
     * {@code all}.
     */
    boolean contains(int port) {
        return ranges.stream().anyMatch(range -> port >= range.first && port <= range.last);
    }

    boolean isEmpty() {
        return ranges.isEmpty();
    }

    @Override
    public String toString() {
        return text.equals("all") || text.equals("none") ? text : "on ports " + text.replace("+", ", ");
    }
}
