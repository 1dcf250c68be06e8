package io.rdmaraw.channel;

import io.rdmaraw.host.IpContext;
import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawPortStatistics;
import io.rdmaraw.metrics.internal.MetricTable;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/** Counts what one event loop does. Written by the loop with plain stores; readable on any thread. */
final class LoopStatistics implements RdmaRawLoopStatistics {
    private static final MetricTable<LoopStatistics> TABLE = new MetricTable<LoopStatistics>()
            .work("rounds", s -> s.rounds, "turns of the loop")
            .work("spins", s -> s.spins, "times that the loop polled on without work before it slept")
            .work("sleeps", s -> s.sleeps, "times that the loop slept")
            .work("nio-channels", s -> s.nioChannels,
                    "TCP and UDP channels of NIO that programs have put on the loop, and that the kernel carries")
            .error("nio-channels-refused", s -> s.nioChannelsRefused, "such channels that were refused")
            .add(RdmaRawMetric.Kind.NANOS, "spin", s -> s.spinNanos, "time polled without work")
            .add(RdmaRawMetric.Kind.NANOS, "sleep", LoopStatistics::sleptNanos,
                    "time slept, the sleep that lasts included")
            .add(RdmaRawMetric.Kind.NANOS, "alive", LoopStatistics::aliveNanos,
                    "time since the loop's start; what is neither spun nor slept was work")
            .error("failures", s -> s.failures.count(
                    ), "unexpected exceptions that the loop survived; the log has them")
            .error("neighbors-refused", s -> s.ofHost(IpContext::refusedSolicitations),
                    "times that the kernel did not ask for a next hop's MAC address, as its table is full or"
                            + " CAP_NET_ADMIN is wanting; the log says which")
            .error("neighbors-crowded", s -> s.ofHost(IpContext::displacedPackets),
                    "packets that waited for a next hop's MAC address, and that newer ones for others took the place"
                            + " of; the channels count them as unresolved")
            .error("notifications-lost", s -> s.ofHost(IpContext::lostNotifications),
                    "times that the kernel's network changed so fast that all was read anew; of the whole host");

    private final LongSupplier clock;
    private final long startNanos;
    private final List<RdmaRawPortStatistics> ports = new CopyOnWriteArrayList<>();
    private final LoopFailures failures;
    private volatile String name = "";
    /** Null until the loop has to do with a host. */
    private volatile IpContext hostView;
    long rounds;
    long spins;
    long spinNanos;
    long sleeps;
    /**
     * While the loop is awake, how long it has slept; while it sleeps, that less the time when it fell asleep, less 1,
     * which is below 0. One word, so a reader on another thread never sees a sleep twice or not at all.
     */
    private long sleep;
    long nioChannels;
    long nioChannelsRefused;

    LoopStatistics(LoopFailures failures) {
        this(failures, System::nanoTime);
    }

    /** @param clock nanoseconds, as of {@link System#nanoTime()} */
    LoopStatistics(LoopFailures failures, LongSupplier clock) {
        this.failures = failures;
        this.clock = clock;
        startNanos = clock.getAsLong();
    }

    private long aliveNanos() {
        return clock.getAsLong() - startNanos;
    }

    /** A loop that only sleeps wakes once in many seconds: who reads meanwhile must not take it for busy. */
    private long sleptNanos() {
        long seen = sleep;
        return seen >= 0 ? seen : seen + 1 + aliveNanos();
    }

    /** The loop is about to sleep. Called on the loop, at the time of its clock that it gives. */
    void fallsAsleep(long nowNanos) {
        sleeps++;
        sleep = sleep - (nowNanos - startNanos) - 1;
    }

    /** The loop is awake again. Called on the loop. */
    void wakesUp() {
        sleep = sleptNanos();
    }

    @Override
    public String name() {
        return name;
    }

    void name(String loopName) {
        name = loopName;
    }

    /** The loop sees its host by this. */
    void hostView(IpContext view) {
        hostView = view;
    }

    private long ofHost(ToLongFunction<IpContext> counted) {
        IpContext view = hostView;
        return view == null ? 0 : counted.applyAsLong(view);
    }

    @Override
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
