package io.rdmaraw.tools.top;

import io.rdmaraw.tools.output.TextTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The TCP part of the screen: one line for the TCP stack of each event loop, followed by states, servers and the
 * busiest connections.
 */
final class TcpScreen {
    /** The name under which {@code RdmaRawQueueStatistics.channels()} lists the TCP stack of a queue. */
    private static final String TCP = "tcp";
    private static final String LISTEN = "LISTEN";
    private static final String ALL_STATES = "ALL";
    private static final String[] SOCKET = {"loop", "device", "local", "remote"};

    private final Snapshot before;
    private final Snapshot now;
    private final double seconds;
    private final int maxConnections;
    private final int widthChars;

    TcpScreen(Snapshot before, Snapshot now, double seconds, int maxConnections, int widthChars) {
        this.before = before;
        this.now = now;
        this.seconds = seconds;
        this.maxConnections = maxConnections;
        this.widthChars = widthChars;
    }

    static boolean isTcp(Snapshot.Row channel) {
        return channel.name("channel").equals(TCP);
    }

    /** Prints the TCP part, or nothing if no loop uses TCP. */
    void print(PrintWriter out) {
        List<Snapshot.Row> stacks = now.channels().stream().filter(TcpScreen::isTcp).toList();
        if (stacks.isEmpty()) {
            return;
        }
        stacks(stacks).print(out, widthChars);
        String states = states();
        if (!states.isEmpty()) {
            out.println("connections: " + states);
        }
        out.println();
        listeners(out);
        connections(out);
    }

    private double rate(Snapshot.Row row, Snapshot.Row old, String key) {
        return (row.count(key) - old.count(key)) / seconds;
    }

    private TextTable stacks(List<Snapshot.Row> stacks) {
        TextTable table = new TextTable("TCP", "OF LOOP", "CONNS", "TIME-WAIT", "OPENED/S", "ACCEPTED/S", "SEG IN/S",
                "SEG OUT/S", "RETRANS/S", "TO LOOPS/S", "COOKIES/S")
                .dispensable("TO LOOPS/S", "COOKIES/S", "TIME-WAIT", "OPENED/S", "OF LOOP");
        for (Snapshot.Row row : stacks) {
            Snapshot.Row old = row.in(before.channels());
            table.row(row.name("device"), row.name("loop"), Long.toString(row.count("gauge:connections")),
                    Long.toString(row.count("gauge:time-wait")),
                    TopScreen.si(rate(row, old, "traffic:opened.connections")),
                    TopScreen.si(rate(row, old, "traffic:accepted.connections")),
                    TopScreen.si(rate(row, old, "traffic:received.segments")),
                    TopScreen.si(rate(row, old, "traffic:sent.segments")),
                    TopScreen.si(rate(row, old, "traffic:retransmitted.segments")),
                    TopScreen.si(rate(row, old, "traffic:forwarded.segments")),
                    TopScreen.si(rate(row, old, "traffic:syn-cookies.sent")));
        }
        return table;
    }

    private String states() {
        Map<String, Long> sums = new TreeMap<>();
        now.sockets().stream().filter(row -> row.name("state").equals(ALL_STATES)).forEach(row -> row.counts()
                .forEach((key, count) -> sums.merge(key.substring(key.indexOf(':') + 1), count, Long::sum)));
        return sums.entrySet().stream().map(e -> e.getKey() + ' ' + e.getValue()).collect(Collectors.joining(", "));
    }

    private void listeners(PrintWriter out) {
        TextTable table = new TextTable("LISTENING ON", "HALF OPEN", "BACKLOG", "OF LOOP");
        List<Snapshot.Row> rows = now.sockets().stream().filter(row -> row.name("state").equals(LISTEN)).toList();
        rows.forEach(row -> table.row(row.name("local"), Long.toString(row.count("gauge:half-open")),
                Long.toString(row.count("gauge:backlog")), row.name("loop")));
        if (!rows.isEmpty()) {
            table.print(out, widthChars);
            out.println();
        }
    }

    private void connections(PrintWriter out) {
        List<Snapshot.Row> rows = new ArrayList<>(now.sockets().stream().filter(row -> !row.name("state").equals(LISTEN)
                && !row.name("state").equals(ALL_STATES)).toList());
        if (rows.isEmpty() || maxConnections == 0) {
            return;
        }
        rows.sort(Comparator.comparingLong((Snapshot.Row row) -> row.sum("traffic")
                - row.in(before.sockets(), SOCKET).sum("traffic")).reversed());
        TextTable table = new TextTable("CONNECTION", "STATE", "RX BIT/S", "TX BIT/S", "RTT", "CWND", "IN FLIGHT",
                "UNSENT", "RETRANS", "OF LOOP")
                .dispensable("OF LOOP", "UNSENT", "IN FLIGHT", "CWND", "RTT");
        rows.stream().limit(maxConnections).forEach(row -> {
            Snapshot.Row old = row.in(before.sockets(), SOCKET);
            table.row(row.name("local") + " - " + row.name("remote"), row.name("state"),
                    TopScreen.si(8 * rate(row, old, "traffic:received.payload.bytes")),
                    TopScreen.si(8 * rate(row, old, "traffic:acknowledged.payload.bytes")),
                    micros(row.count("nanos:rtt")), TopScreen.si(row.count("gauge:congestion-window.bytes")),
                    TopScreen.si(row.count("gauge:unacknowledged.bytes")),
                    TopScreen.si(row.count("gauge:unsent.bytes")),
                    Long.toString(row.count("traffic:retransmitted.segments")), row.name("loop"));
        });
        table.print(out, widthChars);
        out.println();
    }

    private static String micros(long nanos) {
        return nanos == 0 ? "-" : nanos < 10_000_000 ? String.format(Locale.ROOT, "%d us", nanos / 1000)
                : String.format(Locale.ROOT, "%d ms", nanos / 1_000_000);
    }
}
