package io.rdmaraw.testsuite.sim;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs simulation seeds from the command line.
 *
 * <pre>
 * --seeds N     how many seeds (default 1000)
 * --from S      the first seed (default 1)
 * --off MASK    faults to switch off, as a failure report names them
 * --threads T   runs at a time (default: one per processor); the outcome of a seed does not depend on it
 * --pcap DIR    where captures of failures go (default target/sim)
 * --rule NAME   shrink and report only the first failure of this rule, instead of the first of each
 * --json        print one JSON object as the last line
 * </pre>
 *
 * The exit code is 0 when no invariant was broken, 1 when one was, 2 when the arguments make no sense.
 */
public final class SimMain {
    private static final int REPORTED_FAILURES = 8;
    private static final long PATIENCE_SECONDS = 5;

    private long seeds = 1000;
    private long from = 1;
    private long off;
    private int threads = Runtime.getRuntime().availableProcessors();
    private Path captures = Path.of("target", "sim");
    private String onlyRule;
    private boolean json;

    private final TreeMap<Long, Simulator.Failure> failures = new TreeMap<>();
    private final Map<String, Integer> rules = new TreeMap<>();
    private final AtomicLong done = new AtomicLong();
    private volatile boolean ended;
    private long packets;

    private SimMain() {
    }

    /** Runs with the given arguments and returns the exit code. */
    public static int run(String[] args, PrintStream out) throws IOException, InterruptedException {
        SimMain main = new SimMain();
        String complaint = main.parse(args);
        if (complaint != null) {
            out.println(complaint + "; usage: sim [--seeds N] [--from S] [--off MASK] [--threads T] [--pcap DIR]"
                    + " [--rule NAME] [--json]");
            return 2;
        }
        CountDownLatch reported = new CountDownLatch(1);
        Thread hook = new Thread(() -> main.end(reported), "end on signal");
        Runtime.getRuntime().addShutdownHook(hook);
        long begin = System.nanoTime();
        main.runAll();
        main.report(out, (System.nanoTime() - begin) / 1_000_000);
        reported.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException goingDown) {
            // The JVM is shutting down: the hook is running and waiting for the report.
        }
        return main.failures.isEmpty() ? 0 : 1;
    }

    /** After Ctrl-C, ends the run so that the seeds run so far are reported. */
    private void end(CountDownLatch reported) {
        ended = true;
        try {
            reported.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private String parse(String[] args) {
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--json")) {
                json = true;
            } else if (i + 1 == args.length) {
                return "unknown option or missing value: " + args[i];
            } else {
                String complaint = readOption(args[i], args[++i]);
                if (complaint != null) {
                    return complaint;
                }
            }
        }
        return seeds < 1 || threads < 1 ? "--seeds and --threads must be at least 1" : null;
    }

    private String readOption(String name, String value) {
        try {
            return option(name, value);
        } catch (NumberFormatException e) {
            return name + " wants a number, not '" + value + '\'';
        }
    }

    private String option(String name, String value) {
        switch (name) {
            case "--seeds" -> seeds = Long.parseLong(value);
            case "--from" -> from = Long.parseLong(value);
            case "--off" -> off = Long.decode(value);
            case "--threads" -> threads = Integer.parseInt(value);
            case "--rule" -> onlyRule = value;
            case "--pcap" -> captures = Path.of(value);
            default -> {
                return "unknown option " + name;
            }
        }
        return null;
    }

    private void runAll() throws InterruptedException {
        AtomicLong next = new AtomicLong(from);
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = Thread.ofPlatform().name("sim-" + i).start(() -> work(next));
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }

    private void work(AtomicLong next) {
        Simulator simulator = new Simulator(EngineHost::new, null);
        for (long seed = next.getAndIncrement(); !ended && seed < from + seeds; seed = next.getAndIncrement()) {
            Simulator.Failure failure = simulator.run(seed, off);
            done.incrementAndGet();
            if (failure != null) {
                synchronized (failures) {
                    failures.put(seed, failure);
                    rules.merge(failure.rule(), 1, Integer::sum);
                }
            }
        }
        synchronized (failures) {
            packets += simulator.packets();
        }
    }

    private void report(PrintStream out, long millis) throws IOException {
        Simulator simulator = new Simulator(EngineHost::new, null);
        Set<String> reported = new HashSet<>();
        for (Simulator.Failure failure : failures.values()) {
            if (onlyRule != null && !failure.rule().equals(onlyRule) || !reported.add(failure.rule())) {
                continue;
            }
            if (reported.size() > REPORTED_FAILURES) {
                break;
            }
            Simulator.Failure smallest = simulator.shrink(failure);
            Path file = captures.resolve("seed-" + smallest.seed() + ".pcap");
            simulator.capture(smallest, file);
            out.println(smallest + "\ncapture: " + file + "\n");
        }
        out.println((ended ? "ended early: " : "") + done.get() + " seeds from " + from + ", " + packets
                + " packets, " + millis + " ms, " + failures.size() + " violations"
                + (rules.isEmpty() ? "" : " " + rules));
        if (json) {
            out.println("{\"seeds\": " + done.get() + ", \"from\": " + from + ", \"violations\": " + failures.size()
                    + ", \"firstFailingSeed\": " + (failures.isEmpty() ? "null" : failures.firstKey().toString())
                    + ", \"packets\": " + packets + ", \"millis\": " + millis + "}");
        }
    }
}
