package io.rdmaraw.channel;

import io.rdmaraw.host.HostView;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToLongFunction;

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
            .error("failures", s -> s.failures, "unexpected exceptions that the loop survived; the log has them")
            .error("neighbors-refused", s -> s.ofHost(HostView::refusedSolicitations),
                    "times that the kernel did not ask for a next hop's MAC address, as its table is full or"
                            + " CAP_NET_ADMIN is wanting; the log says which")
            .error("neighbors-crowded", s -> s.ofHost(HostView::displacedPackets),
                    "packets that waited for a next hop's MAC address, and that newer ones for others took the place"
                            + " of; the channels count them as unresolved")
            .error("notifications-lost", s -> s.ofHost(HostView::lostNotifications),
                    "times that the kernel's network changed so fast that all was read anew; of the whole host");

    private final long startNanos = System.nanoTime();
    private final List<RdmaRawPortStatistics> ports = new CopyOnWriteArrayList<>();
    private volatile String name = "";
    /** Null until the loop has to do with a host. */
    private volatile HostView hostView;
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

    /** The loop sees its host by this. */
    void hostView(HostView view) {
        hostView = view;
    }

    private long ofHost(ToLongFunction<HostView> counted) {
        HostView view = hostView;
        return view == null ? 0 : counted.applyAsLong(view);
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
