package io.rdmaraw.tools.top;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Servers and connections in the columns and words of ss(8) of iproute2. */
final class SocketList {
    private static final String LISTEN = "LISTEN";
    private static final String ALL_STATES = "ALL";

    private final List<Snapshot.Row> sockets;
    private final boolean info;
    private final boolean timers;
    private final String pidOrNull;

    /** @param pidOrNull the process, if it is to be named */
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
        // As of the kernel's: of a server what waits and how much may, of a connection what is not acknowledged.
        long received = listener ? row.count("level:half-open") : 0;
        long toSend = listener ? row.count("level:backlog")
                : row.count("level:unacknowledged.bytes") + row.count("level:unsent.bytes");
        String owner = pidOrNull == null ? ""
                : "users:((\"java\",pid=" + pidOrNull + ",loop=\"" + row.name("loop") + "\"))";
        return new String[] {abbreviated(row.name("state")), Long.toString(received), Long.toString(toSend),
            row.name("local"), listener ? "*:*" : row.name("remote"), (owner + ' ' + timer(row)).strip(),
            info && !listener ? details(row) : ""};
    }

    /** As {@code ss -o}: timer:(NAME,TIME,RETRANSMISSIONS). */
    private String timer(Snapshot.Row row) {
        return !timers || row.name("timer").isEmpty() ? "" : "timer:(" + row.name("timer") + ','
                + duration(row.count("nanos:timer")) + ',' + row.count("traffic:retransmitted.segments") + ')';
    }

    private static String duration(long nanos) {
        long seconds = nanos / 1_000_000_000;
        return seconds >= 60 ? seconds / 60 + "min" + (seconds % 60 == 0 ? "" : seconds % 60 + "sec")
                : seconds > 0 ? seconds + "sec" : nanos / 1_000_000 + "ms";
    }

    /** ss has its own names for the states of RFC 9293. */
    private static String abbreviated(String state) {
        return switch (state) {
            case "ESTABLISHED" -> "ESTAB";
            case "SYN_RECEIVED" -> "SYN-RECV";
            default -> state.replace('_', '-');
        };
    }

    private static String details(Snapshot.Row row) {
        List<String> words = new ArrayList<>();
        words.add(row.name("congestion"));
        add(words, "rto", millis(row.count("nanos:rto")));
        add(words, "rtt", millis(row.count("nanos:rtt")));
        add(words, "minrtt", millis(row.count("nanos:rtt.minimum")));
        add(words, "mss", number(row.count("level:segment.bytes")));
        add(words, "pmtu", number(row.count("level:path-mtu.bytes")));
        long segment = row.count("level:segment.bytes");
        add(words, "cwnd", number(segment == 0 ? 0 : row.count("level:congestion-window.bytes") / segment));
        add(words, "bytes_acked", number(row.count("traffic:acknowledged.payload.bytes")));
        add(words, "bytes_received", number(row.count("traffic:received.payload.bytes")));
        add(words, "segs_out", number(row.count("traffic:sent.segments")));
        add(words, "segs_in", number(row.count("traffic:received.segments")));
        add(words, "retrans", number(row.count("traffic:retransmitted.segments")));
        add(words, "notsent", number(row.count("level:unsent.bytes")));
        add(words, "snd_wnd", number(row.count("level:send-window.bytes")));
        add(words, "rcv_space", number(row.count("level:receive-window.bytes")));
        return String.join(" ", words);
    }

    /** What is zero is left out, as ss does. */
    private static void add(List<String> words, String name, String value) {
        if (!value.isEmpty()) {
            words.add(name + ':' + value);
        }
    }

    private static String number(long value) {
        return value == 0 ? "" : Long.toString(value);
    }

    private static String millis(long nanos) {
        return nanos == 0 ? "" : String.format(Locale.ROOT, "%.3f", nanos / 1e6).replaceFirst("\\.?0+$", "");
    }
}
