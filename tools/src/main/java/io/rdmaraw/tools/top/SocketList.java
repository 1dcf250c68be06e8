package io.rdmaraw.tools.top;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Prints servers and connections in the format of ss(8) of iproute2. */
final class SocketList {
    private static final String LISTEN = "LISTEN";
    private static final String ALL_STATES = "ALL";

    private final List<Snapshot.Row> sockets;
    private final boolean info;
    private final boolean timers;
    private final String pidOrNull;

    /**
     * Creates the list.
     *
     * @param pidOrNull the process ID to print, or null
     */
    SocketList(List<Snapshot.Row> sockets, boolean info, boolean timers, String pidOrNull) {
        this.sockets = sockets;
        this.info = info;
        this.timers = timers;
        this.pidOrNull = pidOrNull;
    }

    void print(PrintWriter out, boolean listeners, boolean connections) {
        List<String[]> lines = new ArrayList<>();
        lines.add(new String[] {"State", "Recv-Q", "Send-Q", "Local Address:Port", "Peer Address:Port",
            pidOrNull == null ? "" : "Process", ""});
        for (Snapshot.Row row : sockets) {
            String state = row.name("state");
            if (state.equals(LISTEN) ? listeners : connections && !state.equals(ALL_STATES)) {
                lines.add(line(row));
            }
        }
        int[] widths = new int[6];
        for (String[] line : lines) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line[i].length());
            }
        }
        for (String[] line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                text.append(String.format(Locale.ROOT, "%-" + (widths[i] + 1) + "s", line[i]));
            }
            out.println(text.toString().stripTrailing());
            if (!line[6].isEmpty()) {
                out.println("\t " + line[6]);
            }
        }
        out.flush();
    }

    private String[] line(Snapshot.Row row) {
        boolean listener = row.name("state").equals(LISTEN);
        // As in ss: half-open connections and backlog of a server, unacknowledged bytes of a connection.
        long received = listener ? row.count("gauge:half-open") : 0;
        long toSend = listener ? row.count("gauge:backlog")
                : row.count("gauge:unacknowledged.bytes") + row.count("gauge:unsent.bytes");
        String owner = pidOrNull == null ? ""
                : "users:((\"java\",pid=" + pidOrNull + ",loop=\"" + row.name("loop") + "\"))";
        return new String[] {abbreviated(row.name("state")), Long.toString(received), Long.toString(toSend),
            row.name("local"), listener ? "*:*" : row.name("remote"), (owner + ' ' + timer(row)).strip(),
            info && !listener ? details(row) : ""};
    }

    /** Formats the timer as {@code ss -o} does: timer:(NAME,TIME,RETRANSMISSIONS). */
    private String timer(Snapshot.Row row) {
        return !timers || row.name("timer").isEmpty() ? "" : "timer:(" + row.name("timer") + ','
                + duration(row.count("nanos:timer")) + ',' + row.count("traffic:retransmitted.segments") + ')';
    }

    private static String duration(long nanos) {
        long seconds = nanos / 1_000_000_000;
        return seconds >= 60 ? seconds / 60 + "min" + (seconds % 60 == 0 ? "" : seconds % 60 + "sec")
                : seconds > 0 ? seconds + "sec" : nanos / 1_000_000 + "ms";
    }

    /** Converts a state of RFC 9293 to its name in ss. */
    private static String abbreviated(String state) {
        return switch (state) {
            case "ESTABLISHED" -> "ESTAB";
            case "SYN_RECEIVED" -> "SYN-RECV";
            default -> state.replace('_', '-');
        };
    }

    /**
     * Formats the details as {@code ss -i} does and in the same order. Values that are available in bytes are shown in
     * bytes, although ss counts some of them in segments.
     */
    private static String details(Snapshot.Row row) {
        List<String> words = new ArrayList<>();
        if (!row.name("options").isEmpty()) {
            words.add(row.name("options"));
        }
        words.add(row.name("congestion"));
        long sendShift = row.count("gauge:send-window.shift");
        long receiveShift = row.count("gauge:receive-window.shift");
        add(words, "wscale", sendShift == 0 && receiveShift == 0 ? "" : sendShift + "," + receiveShift);
        add(words, "rto", millis(row.count("nanos:rto")));
        add(words, "backoff", number(row.count("gauge:backoff")));
        String variation = millis(row.count("nanos:rtt.variation"));
        add(words, "rtt", millis(row.count("nanos:rtt")) + (variation.isEmpty() ? "" : "/" + variation));
        add(words, "mss", number(row.count("gauge:segment.bytes")));
        add(words, "pmtu", number(row.count("gauge:path-mtu.bytes")));
        add(words, "rcvmss", number(row.count("gauge:peer-segment.bytes")));
        add(words, "cwnd", segments(row, "gauge:congestion-window.bytes"));
        add(words, "ssthresh", row.count("gauge:slow-start-threshold.bytes") == Integer.MAX_VALUE ? ""
                : segments(row, "gauge:slow-start-threshold.bytes"));
        add(words, "bytes_sent", number(row.count("traffic:sent.payload.bytes")));
        add(words, "bytes_retrans", number(row.count("traffic:retransmitted.payload.bytes")));
        add(words, "bytes_acked", number(row.count("traffic:acknowledged.payload.bytes")));
        add(words, "bytes_received", number(row.count("traffic:received.payload.bytes")));
        add(words, "segs_out", number(row.count("traffic:sent.segments")));
        add(words, "segs_in", number(row.count("traffic:received.segments")));
        add(words, "lastsnd", wholeMillis(row.count("nanos:since-sent")));
        add(words, "lastrcv", wholeMillis(row.count("nanos:since-received")));
        addRate(words, "pacing_rate", row.count("gauge:pacing.rate"));
        addRate(words, "delivery_rate", row.count("gauge:delivery.rate"));
        add(words, "bytes_delivered", number(row.count("traffic:delivered.payload.bytes")));
        add(words, "bytes_delivered_ce", number(row.count("traffic:delivered-marked.payload.bytes")));
        if (row.count("gauge:delivery.application-limited") > 0) {
            words.add("app_limited");
        }
        addTimes(words, row);
        add(words, "bytes_unacked", number(row.count("gauge:unacknowledged.bytes")));
        add(words, "retrans", number(row.count("traffic:retransmitted.segments")));
        add(words, "bytes_lost", number(row.count("gauge:lost.bytes")));
        add(words, "bytes_sacked", number(row.count("gauge:sacked.bytes")));
        add(words, "dsack_dups", number(row.count("traffic:duplicates-reported.segments")));
        add(words, "reord_seen", number(row.count("traffic:reorderings")));
        add(words, "rcv_rtt", millis(row.count("nanos:rtt.receiver")));
        add(words, "rcv_space", number(row.count("gauge:receive-buffer.bytes")));
        add(words, "notsent", number(row.count("gauge:unsent.bytes")));
        add(words, "minrtt", millis(row.count("nanos:rtt.minimum")));
        add(words, "bytes_ooo", number(row.count("gauge:out-of-order.bytes")));
        add(words, "snd_wnd", number(row.count("gauge:send-window.bytes")));
        add(words, "rcv_wnd", number(row.count("gauge:receive-window.bytes")));
        add(words, "rcv_dscp", number(row.count("gauge:received.dscp")));
        return String.join(" ", words);
    }

    /** Formats times as ss does: busy:12ms rwnd_limited:3ms(25.0%). */
    private static void addTimes(List<String> words, Snapshot.Row row) {
        long busyNanos = row.count("nanos:busy");
        String busy = wholeMillis(busyNanos);
        add(words, "busy", busy.isEmpty() ? "" : busy + "ms");
        addShare(words, "rwnd_limited", row.count("nanos:window-limited"), busyNanos);
        addShare(words, "sndbuf_limited", row.count("nanos:send-buffer-limited"), busyNanos);
    }

    private static void addShare(List<String> words, String name, long nanos, long ofNanos) {
        if (nanos > 0 && ofNanos > 0) {
            words.add(String.format(Locale.ROOT, "%s:%dms(%.1f%%)", name, nanos / 1_000_000, 100.0 * nanos / ofNanos));
        }
    }

    /** Formats a rate as ss does: pacing_rate 1440000bps. */
    private static void addRate(List<String> words, String name, long bytesPerSecond) {
        if (bytesPerSecond > 0) {
            words.add(name + ' ' + 8 * bytesPerSecond + "bps");
        }
    }

    private static String segments(Snapshot.Row row, String key) {
        long segment = row.count("gauge:segment.bytes");
        return number(segment == 0 ? 0 : row.count(key) / segment);
    }

    private static String wholeMillis(long nanos) {
        return number(nanos / 1_000_000);
    }

    /** Adds a value. As in ss, zero values are omitted. */
    private static void add(List<String> words, String name, String value) {
        if (!value.isEmpty()) {
            words.add(name + ':' + value);
        }
    }

    private static String number(long value) {
        return value == 0 ? "" : Long.toString(value);
    }

    private static String millis(long nanos) {
        return nanos == 0 ? "" : String.format(Locale.ROOT, "%.4f", nanos / 1e6).replaceFirst("\\.?0+$", "");
    }
}
