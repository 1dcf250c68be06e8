package io.rdmaraw.tools.top;

import io.rdmaraw.tools.output.TextTable;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Shows the changes between two snapshots as tables. All columns fit a terminal of 120 columns. On a narrower one, the
 * least important columns are omitted.
 */
final class TopScreen {
    private static final int[] FILLS = {1, 2, 4, 8, 16, 32, 64};
    private static final String[] BARS = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    private final Snapshot before;
    private final Snapshot now;
    private final double seconds;
    private final int maxChannels;
    private final int widthChars;

    /**
     * Creates the screen.
     *
     * @param widthChars width of the terminal, or {@link Integer#MAX_VALUE}
     */
    TopScreen(Snapshot before, Snapshot now, int maxChannels, int widthChars) {
        this.before = before;
        this.now = now;
        this.maxChannels = maxChannels;
        this.widthChars = widthChars;
        seconds = (now.nanos() - before.nanos()) / 1e9;
    }

    String render() {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        loops().print(out, widthChars);
        out.println();
        queues().print(out, widthChars);
        out.println();
        printProblems(out);
        new TcpScreen(before, now, seconds, maxChannels, widthChars).print(out);
        channels(out);
        return text.toString();
    }

    private double rate(Snapshot.Row row, Snapshot.Row old, String key) {
        return (row.count(key) - old.count(key)) / seconds;
    }

    /** Returns a share of the time by the loop's own clock, which excludes the delay of the query. */
    private static double shareOfTime(Snapshot.Row loop, Snapshot.Row old, String key) {
        double alive = loop.count("nanos:alive") - old.count("nanos:alive");
        return alive <= 0 ? 0 : Math.clamp((loop.count(key) - old.count(key)) / alive, 0, 1);
    }

    private TextTable loops() {
        TextTable table = new TextTable("LOOP", "WORK", "SPIN", "SLEEP", "TURNS/S", "SLEEPS/S");
        for (Snapshot.Row loop : now.loops()) {
            Snapshot.Row old = loop.in(before.loops());
            double spin = shareOfTime(loop, old, "nanos:spin");
            double sleep = shareOfTime(loop, old, "nanos:sleep");
            table.row(loop.name("loop"), percent(Math.max(0, 1 - spin - sleep)), percent(spin), percent(sleep),
                    si(rate(loop, old, "work:turns")), si(rate(loop, old, "work:sleeps")));
        }
        return table;
    }

    private TextTable queues() {
        TextTable table = new TextTable("QUEUE", "OF LOOP", "RX/S", "RX BIT/S", "TX/S", "TX BIT/S", "RX BURST",
                "FILL 1..64", "TX BURST", "EMPTY", "RULES", "CHANNELS")
                .dispensable("CHANNELS", "TX BURST", "RULES", "FILL 1..64", "EMPTY", "RX BURST", "OF LOOP");
        for (Snapshot.Row queue : now.queues()) {
            Snapshot.Row old = queue.in(before.queues());
            double received = rate(queue, old, "traffic:received.frames");
            double sent = rate(queue, old, "traffic:sent.frames");
            double polls = rate(queue, old, "work:receive.polls");
            table.row(queue.name("device") + '/' + queue.name("port"), queue.name("loop"), si(received),
                    si(8 * rate(queue, old, "traffic:received.bytes")), si(sent),
                    si(8 * rate(queue, old, "traffic:sent.bytes")),
                    perBurst(received, rate(queue, old, "work:receive.bursts")), fills(queue, old),
                    perBurst(sent, rate(queue, old, "work:send.bursts")),
                    polls == 0 ? "-" : percent(rate(queue, old, "work:receive.polls.empty") / polls),
                    rules(queue), Long.toString(queue.count("gauge:channels")));
        }
        return table;
    }

    private String rules(Snapshot.Row queue) {
        long kernelVisible = queue.in(now.devices(), "device").count("gauge:rules.kernel-visible");
        return queue.count("gauge:rules") + (kernelVisible == 0 ? "" : " (" + kernelVisible + " kernel-visible)");
    }

    /** Draws a bar for each class of burst lengths; its height is the share of the class. */
    private String fills(Snapshot.Row queue, Snapshot.Row old) {
        double all = 0;
        for (int fill : FILLS) {
            all += rate(queue, old, "work:fill." + fill);
        }
        StringBuilder bars = new StringBuilder("|");
        for (int fill : FILLS) {
            double share = all == 0 ? 0 : rate(queue, old, "work:fill." + fill) / all;
            bars.append(BARS[(int) Math.ceil(share * (BARS.length - 1))]);
        }
        return bars.append('|').toString();
    }

    /** Lists all losses, copies and errors so far. Zero counts are omitted. */
    private void printProblems(PrintWriter out) {
        // The location comes last, because a narrow terminal cuts the end of a line.
        TextTable table = new TextTable("DROPS, COPIES, ERRORS", "REASON", "/S", "TOTAL", "WHERE");
        int rows = addTroubles(table, now.devices(), before.devices(), "device")
                + addTroubles(table, now.queues(), before.queues(), "device")
                + addTroubles(table, now.channels(), before.channels(), "channel");
        if (rows == 0) {
            out.println("no drops, no copies, no errors");
        } else {
            table.print(out, widthChars);
        }
        out.println();
    }

    private int addTroubles(TextTable table, List<Snapshot.Row> rows, List<Snapshot.Row> oldRows, String name) {
        int added = 0;
        for (Snapshot.Row row : rows) {
            Snapshot.Row old = row.in(oldRows);
            for (String key : row.counts().keySet()) {
                if (row.count(key) > 0 && key.matches("(drop|copy|error):.*")) {
                    String kind = key.substring(0, key.indexOf(':'));
                    String loop = row.name("loop").isEmpty() ? "" : " of " + row.name("loop");
                    table.row(kind, key.substring(kind.length() + 1), si(rate(row, old, key)),
                            String.format(Locale.ROOT, "%,d", row.count(key)), row.name(name) + loop);
                    added++;
                }
            }
        }
        return added;
    }

    private void channels(PrintWriter out) {
        ToDoubleFunction<Snapshot.Row> traffic = row -> row.sum("traffic") - row.in(before.channels()).sum("traffic");
        List<Snapshot.Row> busiest = new ArrayList<>(now.channels().stream().filter(row -> !TcpScreen.isTcp(row))
                .toList());
        if (busiest.isEmpty()) {
            return;
        }
        busiest.sort(Comparator.comparingDouble(traffic).reversed());
        TextTable table = new TextTable("CHANNEL", "RX/S", "RX BIT/S", "TX/S", "DROPS/S", "LOOP")
                .dispensable("LOOP", "RX BIT/S");
        busiest.stream().limit(maxChannels).forEach(row -> {
            Snapshot.Row old = row.in(before.channels());
            table.row(shortened(row.name("channel")),
                    si(rate(row, old, "traffic:received.frames") + rate(row, old, "traffic:received.datagrams")),
                    si(8 * (rate(row, old, "traffic:received.bytes") + rate(row, old,
                    "traffic:received.payload.bytes"))),
                    si(rate(row, old, "traffic:sent.datagrams")), si((row.sum("drop") - old.sum("drop")) / seconds),
                    row.name("loop"));
        });
        table.print(out, widthChars);
        if (busiest.size() > maxChannels) {
            out.println("and " + (busiest.size() - maxChannels) + " more, with less traffic (--channels)");
        }
    }

    private static String shortened(String name) {
        return name.length() > 56 ? name.substring(0, 53) + "..." : name;
    }

    private static String perBurst(double frames, double bursts) {
        return bursts == 0 ? "-" : String.format(Locale.ROOT, "%.1f", frames / bursts);
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.0f%%", 100 * share);
    }

    /** Formats a number with three digits and a unit prefix. */
    static String si(double value) {
        String[] letters = {"", "k", "M", "G", "T"};
        int thousands = 0;
        double scaled = Math.max(0, value);
        while (scaled >= 999.5 && thousands < letters.length - 1) {
            scaled /= 1000;
            thousands++;
        }
        String format = scaled >= 99.95 || thousands == 0 && scaled == Math.rint(scaled) ? "%.0f%s"
                : scaled >= 9.995 ? "%.1f%s" : "%.2f%s";
        return String.format(Locale.ROOT, format, scaled, letters[thousands]);
    }
}
