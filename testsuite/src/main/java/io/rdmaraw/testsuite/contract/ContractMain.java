package io.rdmaraw.testsuite.contract;

import java.io.PrintStream;
import java.util.regex.Pattern;

/** Runs the generated programs of a range of seeds from the command line. */
public final class ContractMain {
    private static final String USAGE = "usage: test --contract [--seeds N] [--from N] [--threads N] [--no-shrink]"
            + " [--until KINDS] [--show]";

    private long seeds = 1000;
    private long from = 1;
    private int threads = 2 * Runtime.getRuntime().availableProcessors();
    private boolean shrinks = true;
    private Pattern untilOrNull;
    private boolean shows;

    private ContractMain() {
    }

    /** Runs with the given arguments and returns the exit code: 1 if a difference is neither accepted nor known. */
    public static int run(String[] args, PrintStream out) throws InterruptedException {
        ContractMain main = new ContractMain();
        try {
            for (int i = 0; i < args.length; i++) {
                switch (args[i]) {
                    case "--seeds" -> main.seeds = Long.parseLong(args[++i]);
                    case "--from" -> main.from = Long.parseLong(args[++i]);
                    case "--threads" -> main.threads = Integer.parseInt(args[++i]);
                    case "--no-shrink" -> main.shrinks = false;
                    case "--until" -> main.untilOrNull = Pattern.compile(args[++i]);
                    case "--show" -> main.shows = true;
                    default -> {
                        out.println("unknown option " + args[i] + "; " + USAGE);
                        return 2;
                    }
                }
            }
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException wrong) {
            out.println("--seeds, --from and --threads need a number; " + USAGE);
            return 2;
        }
        if (main.seeds < 1 || main.threads < 1) {
            out.println("--seeds and --threads must be at least 1; " + USAGE);
            return 2;
        }
        return main.run(out);
    }

    private int run(PrintStream out) throws InterruptedException {
        if (shows) {
            try (Comparison comparison = new Comparison()) {
                for (long seed = from; seed < from + seeds; seed++) {
                    out.println(comparison.explain(ProgramGenerator.generate(seed)));
                }
            }
            return 0;
        }
        return new ContractRunner(from, seeds, threads, shrinks, untilOrNull, out).run().isEmpty() ? 0 : 1;
    }

    public static void main(String[] args) throws InterruptedException {
        System.exit(run(args, System.out));
    }
}
