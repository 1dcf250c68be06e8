package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.testsuite.net.ImpairedPair;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Prints the goodput table for combinations of loss, RTT and buffer size, and for other faults of paths. CUBIC,
 * NewReno and BBR of the core are measured in virtual time. As root, CUBIC and BBR of the core and of the Linux
 * kernel are also measured in real time: both send through the same link emulator to a kernel.
 *
 * <pre>
 * --seconds N   duration of each transfer (default 8)
 * --runs N      transfers per case, each with another seed (default 3)
 * --case TEXT   only cases with TEXT in their name
 * --sim         only virtual time: needs no root, and all runs give the same figures
 * --json        print the report as one JSON object in the last line
 * </pre>
 */
public final class GoodputMain {
    /** Algorithms that are compared with the kernel's algorithm of the same name. */
    private static final List<String> BESIDE_KERNEL = List.of("cubic", "bbr");
    private static final List<String> SIMULATED = List.of("cubic", "reno", "bbr");

    private int seconds = 8;
    private int runs = 3;
    private String only = "";
    private boolean simulatedOnly;
    private boolean json;
    private final List<GoodputRow> rows = new ArrayList<>();

    private GoodputMain() {
    }

    /** Runs with the given arguments. Returns the exit code, which is 2 if the arguments are invalid. */
    public static int run(String[] args, PrintStream out) throws Exception {
        GoodputMain main = new GoodputMain();
        try {
            main.parse(args);
        } catch (IllegalArgumentException e) {
            out.println(e.getMessage() + "; usage: sim goodput [--seconds N] [--runs N] [--case TEXT] [--sim]"
                    + " [--json]");
            return 2;
        }
        main.all(out);
        return 0;
    }

    private void parse(String[] args) {
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--sim" -> simulatedOnly = true;
                case "--json" -> json = true;
                case "--seconds" -> seconds = number(args, ++i);
                case "--runs" -> runs = number(args, ++i);
                case "--case" -> only = i + 1 < args.length ? args[++i] : "";
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
    }

    private static int number(String[] args, int i) {
        int value = i < args.length ? Integer.parseInt(args[i]) : 0;
        if (value < 1) {
            throw new IllegalArgumentException("--seconds and --runs take a number of at least 1");
        }
        return value;
    }

    private void all(PrintStream out) throws Exception {
        out.printf("Mbit/s of payload over a line of %d Mbit/s, median of %d transfers of %d s%n%n",
                PathCase.BITS_PER_SECOND / 1_000_000, runs, seconds);
        StringBuilder head = new StringBuilder(String.format("%-32s", "case"));
        for (String column : columns()) {
            head.append(String.format("%14s", column));
        }
        out.println(head);
        for (PathCase path : PathCase.all(seconds)) {
            if (path.name().contains(only)) {
                one(path, out);
            }
        }
        if (json) {
            out.println(GoodputRow.json(rows));
        }
    }

    private List<String> columns() {
        List<String> columns = new ArrayList<>();
        SIMULATED.forEach(name -> columns.add("sim-" + name));
        if (!simulatedOnly) {
            for (String name : BESIDE_KERNEL) {
                columns.addAll(List.of("core-" + name, "kernel-" + name, "ratio"));
            }
        }
        return columns;
    }

    private void one(PathCase path, PrintStream out) throws Exception {
        Map<String, List<Double>> results = new LinkedHashMap<>();
        for (int seed = 1; seed <= runs; seed++) {
            for (String name : SIMULATED) {
                add(results, "sim-" + name,
                        SimulatedTransfer.megabitsPerSecond(path, CongestionControls.named(name), seed));
            }
            for (String name : simulatedOnly ? List.<String>of() : BESIDE_KERNEL) {
                add(results, "kernel-" + name, realTime(path, seed, name, null));
                add(results, "core-" + name, realTime(path, seed, name, CongestionControls.named(name)));
            }
        }
        StringBuilder line = new StringBuilder(String.format("%-32s", path.name()));
        String before = null;
        for (String column : columns()) {
            double value;
            if (column.equals("ratio")) {
                String name = before.substring(before.indexOf('-') + 1);
                value = GoodputRow.median(GoodputRow.ratios(results.get("core-" + name), results.get(before)));
            } else {
                List<Double> kernel = column.startsWith("core-") ? results.get(column.replace("core-", "kernel-"))
                        : null;
                GoodputRow row = new GoodputRow(path.name(), column, results.get(column), kernel);
                rows.add(row);
                value = row.median();
            }
            line.append(String.format(Locale.ROOT, column.equals("ratio") ? "%14.2f" : "%14.1f", value));
            before = column;
        }
        out.println(line);
        out.flush();
    }

    private static void add(Map<String, List<Double>> results, String transport, double value) {
        results.computeIfAbsent(transport, key -> new ArrayList<>()).add(value);
    }

    /**
     * Runs one transfer in real time and returns its goodput in Mbit/s.
     *
     * @param name      name of the kernel's algorithm
     * @param algorithm the core's algorithm, or null if the kernel sends
     */
    static double realTime(PathCase path, long seed, String name, CongestionControl.Factory algorithm)
            throws Exception {
        try (TestNetwork network = new TestNetwork("goodput", Path.of("target")).withoutCapture()) {
            NetworkNamespace from = network.namespace();
            NetworkNamespace to = network.namespace();
            ImpairedPair pair = network.impairedPair(from, to, path.forward(), path.backward(), seed);
            try (KernelTransfer.Sink sink = new KernelTransfer.Sink(to, pair.peer().ipv4())) {
                if (algorithm == null) {
                    try (KernelSender sender = new KernelSender(from, name)) {
                        sender.send(pair.peer().ipv4(), path.seconds());
                        return megabits(sink, path);
                    }
                } else {
                    from.run("ip", "addr", "flush", "dev", pair.ours().name());
                    try (CoreSender sender = new CoreSender(pair.ours(), pair.peer(), algorithm, seed)) {
                        sender.send(path.seconds());
                        return megabits(sink, path);
                    }
                }
            }
        }
    }

    private static double megabits(KernelTransfer.Sink sink, PathCase path) {
        return sink.bytes() * 8 / 1e6 / path.seconds();
    }
}
