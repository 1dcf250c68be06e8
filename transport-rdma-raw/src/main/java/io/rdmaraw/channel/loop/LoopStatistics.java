package io.rdmaraw.channel.loop;

import io.rdmaraw.host.IpContext;
import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.metrics.internal.MetricTable;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * Counters of one event loop. The loop updates them with plain stores; other threads may read slightly outdated values.
 */
public final class LoopStatistics implements RdmaRawLoopStatistics {
    private static final MetricTable<LoopStatistics> TABLE = new MetricTable<LoopStatistics>()
            .work("turns", s -> s.turns, "turns of the loop")
            .work("spins", s -> s.spins, "times that the loop continued to poll without work before it slept")
            .work("sleeps", s -> s.sleeps, "times that the loop slept")
            .work("nio-channels", s -> s.nioChannels,
                    "TCP and UDP channels of NIO registered with the loop; the kernel carries them")
            .error("nio-channels-refused", s -> s.nioChannelsRefused, "channels of NIO that were rejected")
            .add(RdmaRawMetric.Kind.NANOS, "spin", s -> s.spinNanos, "time polled without work")
            .add(RdmaRawMetric.Kind.NANOS, "sleep", LoopStatistics::sleptNanos,
                    "time slept, including the present sleep")
            .add(RdmaRawMetric.Kind.NANOS, "alive", LoopStatistics::aliveNanos,
                    "time since the loop's start; without spin and sleep it is the time of work")
            .error("failures", s -> s.failures.count(
                    ), "unexpected exceptions that the loop survived; see the log")
            .error("neighbors-refused", s -> s.ofIpContext(IpContext::refusedSolicitations),
                    "times that the kernel did not resolve a next hop, because its table was full or"
                            + " CAP_NET_ADMIN was missing; see the log")
            .error("neighbor-queue-full", s -> s.ofIpContext(IpContext::displacedPackets),
                    "packets that waited for a next hop's MAC address and were displaced by newer packets; the channels"
                            + " count them as unresolved")
            .error("notifications-lost", s -> s.ofIpContext(IpContext::lostNotifications),
                    "times that notifications of the kernel were lost and all state was read again; per host");

    private final LongSupplier clock;
    private final long startNanos;
    private final List<RdmaRawQueueStatistics> queues = new CopyOnWriteArrayList<>();
    private final LoopFailures failures;
    private volatile String name = "";
    /** Null until the loop uses IP. */
    private volatile IpContext ipContext;
    public long turns;
    public long spins;
    public long spinNanos;
    public long sleeps;
    /**
     * Total time slept while the loop is awake. While it sleeps: that total minus the time at which it fell asleep,
     * minus 1, which is always negative. A single field, so that a reader on another thread never counts a sleep twice
     * or misses it.
     */
    private long sleepNanosOrStart;
    public long nioChannels;
    public long nioChannelsRefused;

    public LoopStatistics(LoopFailures failures) {
        this(failures, System::nanoTime);
    }

    /**
     * Creates the counters of a loop.
     *
     * @param clock source of nanoseconds, like {@link System#nanoTime()}
     */
    public LoopStatistics(LoopFailures failures, LongSupplier clock) {
        this.failures = failures;
        this.clock = clock;
        startNanos = clock.getAsLong();
    }

    private long aliveNanos() {
        return clock.getAsLong() - startNanos;
    }

    /**
     * Returns the time slept, including the current sleep. An idle loop wakes up only every few seconds; without its
     * current sleep it would appear busy.
     */
    private long sleptNanos() {
        long seen = sleepNanosOrStart;
        return seen >= 0 ? seen : seen + 1 + aliveNanos();
    }

    /** Marks the start of a sleep. Called on the loop with the current time of the loop's clock. */
    public void sleepStarted(long nowNanos) {
        sleeps++;
        sleepNanosOrStart = sleepNanosOrStart - (nowNanos - startNanos) - 1;
    }

    /** Marks the end of a sleep. Called on the loop. */
    public void sleepEnded() {
        sleepNanosOrStart = sleptNanos();
    }

    @Override
    public String name() {
        return name;
    }

    public void name(String loopName) {
        name = loopName;
    }

    /** Sets the source of the counters for neighbors and notifications. */
    public void ipContext(IpContext context) {
        ipContext = context;
    }

    private long ofIpContext(ToLongFunction<IpContext> counted) {
        IpContext context = ipContext;
        return context == null ? 0 : counted.applyAsLong(context);
    }

    @Override
    public List<RdmaRawQueueStatistics> queues() {
        return List.copyOf(queues);
    }

    public void add(RdmaRawQueueStatistics queue) {
        queues.add(queue);
        RdmaRawMetrics.queueOpened(this, queue);
    }

    public void remove(RdmaRawQueueStatistics queue) {
        if (queues.remove(queue)) {
            RdmaRawMetrics.queueClosed(this, queue);
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
