package io.rdmaraw.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.netty.util.internal.ObjectUtil;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * Gives the counts of all loops to a Micrometer registry: {@code rdmaraw.port.drops} and {@code rdmaraw.port.copies}
 * with the tag {@code reason}, {@code rdmaraw.port.received.frames} and so on, tagged with {@code loop}, {@code device}
 * and {@code port}; {@code rdmaraw.channel.*} summed over all channels that a queue has had. Queues that open later are
 * bound when they do. Needs {@code io.micrometer:micrometer-core}, which the transport does not bring.
 */
@SuppressWarnings("exports") // Optional: users of this class have Micrometer.
public final class RdmaRawMeterBinder implements MeterBinder, AutoCloseable {
    private static final String PREFIX = "rdmaraw.";

    private final List<Bound> bound = new ArrayList<>();

    /** Makes a binder that is bound to nothing yet. */
    public RdmaRawMeterBinder() {
        // Nothing to set.
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        Bound listener = new Bound(ObjectUtil.checkNotNull(registry, "registry"));
        synchronized (bound) {
            bound.add(listener);
        }
        RdmaRawMetrics.addListener(listener);
    }

    /** Removes the meters from all registries. */
    @Override
    public void close() {
        synchronized (bound) {
            for (Bound listener : bound) {
                RdmaRawMetrics.removeListener(listener);
                listener.removeAll();
            }
            bound.clear();
        }
    }

    /** The meters in one registry. */
    private static final class Bound implements RdmaRawMetrics.Listener {
        private final MeterRegistry registry;
        private final Map<Object, List<Meter>> meters = new ConcurrentHashMap<>();

        Bound(MeterRegistry registry) {
            this.registry = registry;
        }

        @Override
        public void portOpened(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
            meters.computeIfAbsent(loop, key -> bind("loop.", loop, Tags.of("loop", loop.name())));
            Tags tags = Tags.of("loop", loop.name(), "device", port.deviceName(), "port",
                    Integer.toString(port.portNumber()));
            meters.computeIfAbsent(port, key -> {
                List<Meter> made = bind("port.", port, tags);
                made.addAll(bindChannels(port, tags));
                return made;
            });
        }

        private List<Meter> bind(String scope, RdmaRawMetered metered, Tags tags) {
            List<Meter> made = new ArrayList<>();
            for (RdmaRawMetric metric : metered.metrics()) {
                made.add(switch (metric.kind()) {
                    case NANOS -> TimeGauge.builder(PREFIX + scope + metric.name(), metered, TimeUnit.NANOSECONDS,
                            m -> m.value(metric)).description(metric.description()).tags(tags).register(registry);
                    case LEVEL -> Gauge.builder(PREFIX + scope + metric.name(), metered, m -> m.value(metric))
                            .description(metric.description()).tags(tags).register(registry);
                    default -> FunctionCounter.builder(nameOf(scope, metric), metered, m -> m.value(metric))
                            .description(descriptionOf(metric)).tags(tagsOf(metric, tags)).register(registry);
                });
            }
            return made;
        }

        private List<Meter> bindChannels(RdmaRawPortStatistics port, Tags tags) {
            List<Meter> made = new ArrayList<>();
            port.channelMetrics().forEach((kind, metrics) -> bindTotals(kind + '.', metrics, port, tags, made));
            return made;
        }

        /** Each kind of channel has its scope: they share names; a registry takes a name with the same tags once. */
        private void bindTotals(String scope, List<RdmaRawMetric> metrics, RdmaRawPortStatistics port, Tags tags,
                List<Meter> made) {
            metrics.forEach(metric -> made.add(bindTotal(scope, port, metric, tags)));
        }

        private Meter bindTotal(String scope, RdmaRawPortStatistics port, RdmaRawMetric metric, Tags tags) {
            ToDoubleFunction<RdmaRawPortStatistics> total = p -> p.channelTotals().getOrDefault(metric, 0L);
            return metric.kind() == RdmaRawMetric.Kind.LEVEL
                    ? Gauge.builder(PREFIX + scope + metric.name(), port, total).description(metric.description())
                            .tags(tags).register(registry)
                    : FunctionCounter.builder(nameOf(scope, metric), port, total).description(descriptionOf(metric))
                            .tags(tagsOf(metric, tags)).register(registry);
        }

        /** One meter for all reasons, as is usual with Micrometer. */
        private static String nameOf(String scope, RdmaRawMetric metric) {
            return PREFIX + scope + switch (metric.kind()) {
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
        public void portClosed(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
            remove(port);
            if (loop.ports().isEmpty()) {
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
}
