package io.rdmaraw.testsuite.contract;

import java.io.PrintStream;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/** Compares the programs of a range of seeds on several threads. Reports each kind of difference once. */
final class ContractRunner {
    private static final long PROGRESS_NANOS = 5_000_000_000L;

    private final long from;
    private final long seeds;
    private final int threads;
    private final boolean shrinks;
    /** The kinds of differences that end the run; null for none. */
    private final Pattern untilOrNull;
    private final PrintStream out;
    private final AtomicLong next;
    private final AtomicLong done = new AtomicLong();
    private final Map<KnownFaults, Long> known = new EnumMap<>(KnownFaults.class);
    private final Map<String, Long> unknown = new TreeMap<>();
    /** Number of differences that did not occur in all repetitions of the shrunk program. */
    private int unstable;
    private volatile boolean stopped;
    private final long beganNanos = System.nanoTime();
    private long reportedNanos = beganNanos;

    ContractRunner(long from, long seeds, int threads, boolean shrinks, Pattern untilOrNull, PrintStream out) {
        this.from = from;
        this.seeds = seeds;
        this.threads = threads;
        this.shrinks = shrinks;
        this.untilOrNull = untilOrNull;
        this.out = out;
        this.next = new AtomicLong(from);
    }

    /** Runs all seeds. Returns the differences that are neither accepted nor known, each with its first seed. */
    Map<String, Long> run() throws InterruptedException {
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = Thread.ofPlatform().name("contract-" + i).start(this::work);
        }
        for (Thread worker : workers) {
            worker.join();
        }
        out.println(done + " programs in " + seconds() + " s: " + known.size() + " known faults " + known + ", "
                + unknown.size() + " other differences " + unknown + ", " + unstable + " not reproduced");
        return unknown;
    }

    /** Returns the known faults that occurred, each with its first seed. */
    Map<KnownFaults, Long> known() {
        return known;
    }

    private void work() {
        try (Comparison comparison = new Comparison()) {
            for (long seed = next.getAndIncrement(); seed < from + seeds && !stopped; seed = next.getAndIncrement()) {
                Program program = ProgramGenerator.generate(seed);
                for (Difference each : comparison.compare(program, this::isIgnored)) {
                    report(comparison, each);
                }
                done.incrementAndGet();
                progress();
            }
        }
    }

    /**
     * Returns whether a difference is accepted or has been reported. A known fault is confirmed by repetitions once and
     * ignored afterwards.
     */
    private synchronized boolean isIgnored(Difference difference) {
        List<KnownFaults> faults = KnownFaults.of(difference);
        return AcceptedDifferences.accept(difference) || (faults.isEmpty() ? unknown.containsKey(difference.kind())
                : known.keySet().containsAll(faults));
    }

    private boolean isExplained(Difference difference) {
        return AcceptedDifferences.accept(difference) || !KnownFaults.of(difference).isEmpty();
    }

    private void report(Comparison comparison, Difference difference) {
        List<KnownFaults> faults = KnownFaults.of(difference);
        synchronized (this) {
            for (KnownFaults fault : faults) {
                if (known.putIfAbsent(fault, difference.program().seed()) == null) {
                    out.println("seed " + difference.program().seed() + " shows a known fault: " + fault.behaviour
                            + "\n    " + difference);
                }
            }
            if (!faults.isEmpty() || unknown.putIfAbsent(difference.kind(), difference.program().seed()) != null) {
                return;
            }
        }
        Difference smallest = shrinks ? Shrinker.shrink(comparison, difference) : difference;
        // Repeat the comparison once more, so that a race in the program itself is not reported.
        boolean again = comparison.compare(smallest.program(), this::isExplained).stream()
                .anyMatch(each -> each.kind().equals(smallest.kind()));
        synchronized (this) {
            if (!again) {
                unknown.remove(difference.kind());
                unstable++;
                return;
            }
            stopped |= untilOrNull != null && untilOrNull.matcher(smallest.kind()).find();
            out.println("seed " + difference.program().seed() + " differs in " + smallest + '\n'
                    + smallest.program().source());
        }
    }

    private synchronized void progress() {
        long now = System.nanoTime();
        if (now - reportedNanos > PROGRESS_NANOS) {
            reportedNanos = now;
            out.println(done + " of " + seeds + " programs, " + seconds() + " s, " + known.size() + " known faults, "
                    + unknown.size() + " other differences");
        }
    }

    private long seconds() {
        return (System.nanoTime() - beganNanos) / 1_000_000_000;
    }
}
