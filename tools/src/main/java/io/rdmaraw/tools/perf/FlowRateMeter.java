package io.rdmaraw.tools.perf;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.function.IntFunction;
import org.HdrHistogram.Histogram;

/** Measures the creation and the removal of flow rules separately. */
final class FlowRateMeter {
    private static final long MAX_NANOS = 60_000_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;

    private final int rules;
    private final Sample created = new Sample("create");
    private final Sample destroyed = new Sample("destroy");

    FlowRateMeter(int rules) {
        this.rules = rules;
    }

    /** Creates all rules, then removes them. */
    void round(QueuePair target, IntFunction<FlowSpec> ruleOf) {
        List<Flow> flows = new ArrayList<>(rules);
        List<FlowSpec> specs = new ArrayList<>(rules);
        for (int i = 0; i < rules; i++) {
            specs.add(ruleOf.apply(i));
        }
        try {
            long start = System.nanoTime();
            long before = start;
            for (FlowSpec spec : specs) {
                flows.add(target.createFlow(spec));
                before = created.record(before);
            }
            created.endRound(rules, before - start);
        } finally {
            long start = System.nanoTime();
            long before = start;
            for (Flow flow : flows) {
                flow.close();
                before = destroyed.record(before);
            }
            destroyed.endRound(flows.size(), before - start);
        }
    }

    /** Adds the measurements of threads that ran at the same time: their rates add up. */
    void add(List<FlowRateMeter> threads) {
        for (FlowRateMeter thread : threads) {
            created.add(thread.created);
            destroyed.add(thread.destroyed);
        }
    }

    List<Sample> samples() {
        return List.of(created, destroyed);
    }

    /** The measurements of one operation in all rounds. */
    static final class Sample {
        private final String operation;
        private final Histogram nanos = new Histogram(MAX_NANOS, SIGNIFICANT_DIGITS);
        private final DoubleSummaryStatistics rounds = new DoubleSummaryStatistics();
        private long count;
        private long totalNanos;
        private double addedPerSecond;
        private double addedSlowest;
        private double addedFastest;

        private Sample(String operation) {
            this.operation = operation;
        }

        private long record(long before) {
            long now = System.nanoTime();
            nanos.recordValue(Math.min(MAX_NANOS, now - before));
            return now;
        }

        private void endRound(int operations, long elapsedNanos) {
            count += operations;
            totalNanos += elapsedNanos;
            rounds.accept(operations * 1e9 / elapsedNanos);
        }

        private void add(Sample thread) {
            nanos.add(thread.nanos);
            addedPerSecond += thread.count * 1e9 / thread.totalNanos;
            addedSlowest += thread.rounds.getMin();
            addedFastest += thread.rounds.getMax();
        }

        String operation() {
            return operation;
        }

        double micros(double percentile) {
            return (percentile == 0 ? nanos.getMinValue() : nanos.getValueAtPercentile(percentile)) / 1e3;
        }

        double meanMicros() {
            return nanos.getMean() / 1e3;
        }

        double perSecond() {
            return addedPerSecond;
        }

        double slowestRoundPerSecond() {
            return addedSlowest;
        }

        double fastestRoundPerSecond() {
            return addedFastest;
        }
    }
}
