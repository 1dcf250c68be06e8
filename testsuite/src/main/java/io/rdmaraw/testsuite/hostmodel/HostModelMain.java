package io.rdmaraw.testsuite.hostmodel;

import java.io.PrintStream;

/**
 * Compares generated hosts with the kernel from the command line.
 *
 * <pre>
 * --seeds N    number of seeds (default 100)
 * --from S     first seed (default 1)
 * --faults     also report known faults
 * --without ID also report the differences of the accepted entry ID
 * --keep-going report the differences of all seeds, not only of the first one
 * </pre>
 *
 * The exit code is 0 if there was no difference, 1 if there was one, and 2 if the arguments are wrong.
 */
public final class HostModelMain {
    private static final String USAGE =
            "usage: ./rdma-raw test --host-model [--seeds N] [--from S] [--faults] [--without ID]"
                    + " [--keep-going]";
    private static final int PROGRESS_SEEDS = 25;

    private long seeds = 100;
    private long from = 1;
    private boolean withFaults;
    private String without = "";
    private boolean keepGoing;

    private HostModelMain() {
    }

    /** Runs with the given arguments and returns the exit code. */
    public static int run(String[] args, PrintStream out) throws Exception {
        HostModelMain main = new HostModelMain();
        if (!main.parse(args)) {
            out.println(USAGE);
            return 2;
        }
        return main.runAll(out);
    }

    private boolean parse(String[] args) {
        try {
            for (int i = 0; i < args.length; i++) {
                switch (args[i]) {
                    case "--seeds" -> seeds = Long.parseLong(args[++i]);
                    case "--from" -> from = Long.parseLong(args[++i]);
                    case "--faults" -> withFaults = true;
                    case "--without" -> without = args[++i];
                    case "--keep-going" -> keepGoing = true;
                    default -> {
                        return false;
                    }
                }
            }
            return seeds > 0 && (without.isEmpty()
                    || AcceptedDifferences.all().stream().anyMatch(entry -> entry.id().equals(without)));
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            return false;
        }
    }

    private int runAll(PrintStream out) throws Exception {
        long begin = System.nanoTime();
        int failures = 0;
        long played = 0;
        try (HostModel model = new HostModel(
                entry -> !(withFaults && entry.isFault()) && !entry.id().equals(without))) {
            for (long seed = from; seed < from + seeds && (failures == 0 || keepGoing); seed++) {
                String report = model.run(seed);
                played++;
                if (report != null) {
                    failures++;
                    out.println(report + '\n');
                }
                if (played % PROGRESS_SEEDS == 0) {
                    out.println(played + " seeds, " + model.probes() + " packets, " + seconds(begin) + " s");
                }
            }
            model.met().forEach((id, count) -> out.println("accepted: " + id + ", " + count));
            out.println(played + " seeds from " + from + ", " + model.probes() + " packets and connections, "
                    + seconds(begin) + " s, " + failures + " differences, " + model.notRepeated()
                    + " not repeated");
        }
        return failures == 0 ? 0 : 1;
    }

    private static long seconds(long beginNanos) {
        return (System.nanoTime() - beginNanos) / 1_000_000_000;
    }
}
