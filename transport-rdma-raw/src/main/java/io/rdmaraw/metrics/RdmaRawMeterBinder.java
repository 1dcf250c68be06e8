package io.rdmaraw.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.metrics.RdmaRawMetric.Scope;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * Registers the metrics of all loops with a Micrometer registry.
 * <pre>{@code
 * RdmaRawMeterBinder binder = new RdmaRawMeterBinder();
 * binder.bindTo(registry);
 * }</pre>
 *
 * <p>Queues that open later are registered when they open. Names and tags:
 * <ul>
 * <li>{@code rdmaraw.queue.received.frames} and other counters of queues have the tags {@code loop},
 *     {@code device} and {@code port}.
 * <li>{@code rdmaraw.queue.drops} and {@code rdmaraw.queue.copies} also have the tag {@code reason}.
 * <li>{@code rdmaraw.channel.*}, {@code rdmaraw.datagram.*}, {@code rdmaraw.host.*} and {@code rdmaraw.tcp.*} are sums
 *     over all raw channels, datagram channels, userspace hosts and TCP stacks that a queue has had.
 * <li>Counters of a whole device have {@code -} as loop and port, so that sums over loops count them once.
 * </ul>
 *
 * <p>Requires {@code io.micrometer:micrometer-core}, which is an optional dependency of the transport.
 * Thread-safe.
 */
@SuppressWarnings("exports") // Micrometer is optional; only users of this class need it.
public final class RdmaRawMeterBinder implements MeterBinder, AutoCloseable {
    private static final String PREFIX = "rdmaraw.";
    /** The value of a tag that does not apply. A registry requires the same tags for all meters with one name. */
    private static final String NONE = "-";

    private final List<BoundRegistry> boundRegistries = new ArrayList<>();

    /** Creates a binder that is not bound to a registry yet. */
    public RdmaRawMeterBinder() {
        // Declared for its Javadoc.
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        BoundRegistry listener = new BoundRegistry(ObjectUtil.checkNotNull(registry, "registry"));
        synchronized (boundRegistries) {
            boundRegistries.add(listener);
        }
        RdmaRawMetrics.addListener(listener);
    }

    /** Removes the meters from all registries. */
    @Override
    public void close() {
        synchronized (boundRegistries) {
            for (BoundRegistry listener : boundRegistries) {
                RdmaRawMetrics.removeListener(listener);
                listener.removeAll();
            }
            boundRegistries.clear();
        }
    }

    /** The meters in one registry. */
    private static final class BoundRegistry implements RdmaRawMetrics.Listener {
        private final MeterRegistry registry;
        private final Map<Object, List<Meter>> meters = new ConcurrentHashMap<>();
        private final Map<String, Device> devices = new ConcurrentHashMap<>();

        BoundRegistry(MeterRegistry registry) {
            this.registry = registry;
        }

        @Override
        public synchronized void queueOpened(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue) {
            meters.computeIfAbsent(loop, key -> bind("loop.", loop, Tags.of("loop", loop.name())));
            Device device = devices.computeIfAbsent(queue.deviceName(), key -> new Device());
            device.add(queue);
            meters.computeIfAbsent(device, key -> bind("queue.", device, Scope.DEVICE,
                    Tags.of("loop", NONE, "device", queue.deviceName(), "port", NONE)));
            Tags tags = Tags.of("loop", loop.name(), "device", queue.deviceName(), "port",
                    Integer.toString(queue.portNumber()));
            meters.computeIfAbsent(queue, key -> {
                List<Meter> made = bind("queue.", queue, tags);
                made.addAll(bindKinds(queue, tags));
                return made;
            });
        }

        private List<Meter> bind(String prefix, RdmaRawMetered metered, Tags tags) {
            return bind(prefix, metered, Scope.OWN, tags);
        }

        private List<Meter> bind(String prefix, RdmaRawMetered metered, Scope scope, Tags tags) {
            List<Meter> made = new ArrayList<>();
            for (RdmaRawMetric metric : metered.metrics()) {
                if (metric.scope() == scope) {
                    made.add(bind(prefix, metered, metric, tags));
                }
            }
            return made;
        }

        private Meter bind(String prefix, RdmaRawMetered metered, RdmaRawMetric metric, Tags tags) {
            return switch (metric.kind()) {
                case NANOS -> TimeGauge.builder(PREFIX + prefix + metric.name(), metered, TimeUnit.NANOSECONDS,
                        m -> m.value(metric)).description(metric.description()).tags(tags).register(registry);
                case GAUGE -> Gauge.builder(PREFIX + prefix + metric.name(), metered, m -> m.value(metric))
                        .description(metric.description()).tags(tags).register(registry);
                default -> FunctionCounter.builder(nameOf(prefix, metric), metered, m -> m.value(metric))
                        .description(descriptionOf(metric)).tags(tagsOf(metric, tags)).register(registry);
            };
        }

        private List<Meter> bindKinds(RdmaRawQueueStatistics queue, Tags tags) {
            List<Meter> made = new ArrayList<>();
            queue.metricsByKind().forEach((kind, metrics) -> bindTotals(kind, metrics, queue, tags, made));
            return made;
        }

        /**
         * Registers the totals of one kind of receiver. The kinds have metrics of the same name but with different
         * tags, so each kind has its own prefix.
         */
        private void bindTotals(String kind, List<RdmaRawMetric> metrics, RdmaRawQueueStatistics queue, Tags tags,
                List<Meter> made) {
            metrics.forEach(metric -> made.add(bindTotal(kind, queue, metric, tags)));
        }

        private Meter bindTotal(String kind, RdmaRawQueueStatistics queue, RdmaRawMetric metric, Tags tags) {
            String prefix = kind + '.';
            ToDoubleFunction<RdmaRawQueueStatistics> total = q -> q.totals(kind).getOrDefault(metric, 0L);
            return metric.kind() == RdmaRawMetric.Kind.GAUGE
                    ? Gauge.builder(PREFIX + prefix + metric.name(), queue, total).description(metric.description())
                            .tags(tags).register(registry)
                    : FunctionCounter.builder(nameOf(prefix, metric), queue, total).description(descriptionOf(metric))
                            .tags(tagsOf(metric, tags)).register(registry);
        }

        /**
         * Returns the name of a meter. All drop reasons share one name, as is usual with Micrometer; so do all
         * copy reasons.
         */
        private static String nameOf(String prefix, RdmaRawMetric metric) {
            return PREFIX + prefix + switch (metric.kind()) {
                case DROP -> "drops";
                case COPY -> "copies";
                default -> metric.name();
            };
        }

        private static String descriptionOf(RdmaRawMetric metric) {
            return switch (metric.kind()) {
                case DROP -> "what was lost, by reason";
                case COPY -> "what was copied, by reason";
                default -> metric.description();
            };
        }

        private static Tags tagsOf(RdmaRawMetric metric, Tags tags) {
            return switch (metric.kind()) {
                case DROP, COPY -> tags.and("reason", metric.name());
                default -> tags;
            };
        }

        @Override
        public synchronized void queueClosed(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue) {
            remove(queue);
            Device device = devices.get(queue.deviceName());
            if (device != null && device.removeAndCheckEmpty(queue)) {
                devices.remove(queue.deviceName());
                remove(device);
            }
            if (loop.queues().isEmpty()) {
                remove(loop);
            }
        }

        private void remove(Object of) {
            List<Meter> removed = meters.remove(of);
            if (removed != null) {
                removed.forEach(registry::remove);
            }
        }

        void removeAll() {
            List.copyOf(meters.keySet()).forEach(this::remove);
        }
    }

    /** The counters that are common to all queues of a device, read from one open queue. */
    private static final class Device implements RdmaRawMetered {
        private final Set<RdmaRawQueueStatistics> queues = new LinkedHashSet<>();
        /** Any queue of the device. Not cleared when the last queue closes, because a thread may be reading a meter. */
        private volatile RdmaRawQueueStatistics anyQueue;

        void add(RdmaRawQueueStatistics queue) {
            queues.add(queue);
            anyQueue = queue;
        }

        /** Removes a queue and returns whether it was the last one. */
        boolean removeAndCheckEmpty(RdmaRawQueueStatistics queue) {
            boolean removed = queues.remove(queue);
            if (!queues.isEmpty()) {
                anyQueue = queues.iterator().next();
            }
            return removed && queues.isEmpty();
        }

        @Override
        public List<RdmaRawMetric> metrics() {
            return anyQueue.metrics();
        }

        @Override
        public long value(RdmaRawMetric metric) {
            return anyQueue.value(metric);
        }
    }
}
