package io.rdmaraw.channel;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What one event loop has counted; {@link RdmaRawMetrics#loops()} has them all. Readable on any thread. */
public final class RdmaRawLoopStatistics implements RdmaRawMetered {
    private static final MetricTable<RdmaRawLoopStatistics> TABLE = new MetricTable<RdmaRawLoopStatistics>()
            .work("rounds", s -> s.rounds, "turns of the loop")
            .work("spins", s -> s.spins, "times that the loop polled on without work before it slept")
            .work("sleeps", s -> s.sleeps, "times that the loop slept")
            .add(RdmaRawMetric.Kind.NANOS, "spin", s -> s.spinNanos, "time polled without work")
            .add(RdmaRawMetric.Kind.NANOS, "sleep", s -> s.sleepNanos, "time slept")
            .add(RdmaRawMetric.Kind.NANOS, "alive", s -> System.nanoTime() - s.startNanos,
                    "time since the loop's start; what is neither spun nor slept was work")
            .error("failures", s -> s.failures, "unexpected exceptions that the loop survived; the log has them");

    private final long startNanos = System.nanoTime();
    private final List<RdmaRawPortStatistics> ports = new CopyOnWriteArrayList<>();
    private volatile String name = "";
    long rounds;
    long spins;
    long spinNanos;
    long sleeps;
    long sleepNanos;
    long failures;

    RdmaRawLoopStatistics() {
    }

    /** Returns the name of the loop's thread, with a number behind it where another loop's thread has the same. */
    public String name() {
        return name;
    }

    void name(String loopName) {
        name = loopName;
    }

    /** Returns the ports that the loop has queues on. */
    public List<RdmaRawPortStatistics> ports() {
        return List.copyOf(ports);
    }

    void add(RdmaRawPortStatistics port) {
        ports.add(port);
        RdmaRawMetrics.portOpened(this, port);
    }

    void remove(RdmaRawPortStatistics port) {
        if (ports.remove(port)) {
            RdmaRawMetrics.portClosed(this, port);
        }
    }

    @Override
    public List<RdmaRawMetric> metrics() {
        return TABLE.metrics();
    }

    @Override
    public long value(RdmaRawMetric metric) {
        return TABLE.value(this, metric);
    }
}
