package io.rdmaraw.metrics.internal;

import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** The metrics of a class and how to read them. Filled once, in a static initialiser. */
public final class MetricTable<T> {
    private final Map<RdmaRawMetric, ToLongFunction<T>> values = new LinkedHashMap<>();
    private List<RdmaRawMetric> metrics = List.of();
    private final List<String> frameDropReasons = new ArrayList<>();
    private final List<ToLongFunction<T>> frameDrops = new ArrayList<>();

    /** Creates an empty table. */
    public MetricTable() {
        // Filled by the static initialiser of the class with the counters.
    }

    public MetricTable<T> add(RdmaRawMetric.Kind kind, String name, ToLongFunction<T> value, String description) {
        return add(new RdmaRawMetric(name, kind, description), value);
    }

    private MetricTable<T> add(RdmaRawMetric metric, ToLongFunction<T> value) {
        values.put(metric, value);
        metrics = List.copyOf(values.keySet());
        return this;
    }

    /** Adds a metric of the whole device. */
    public MetricTable<T> ofDevice(RdmaRawMetric.Kind kind, String name, ToLongFunction<T> value, String description) {
        return add(new RdmaRawMetric(name, kind, description, RdmaRawMetric.Scope.DEVICE), value);
    }

    public MetricTable<T> traffic(String name, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.TRAFFIC, name, value, description);
    }

    /** Adds a reason for which the loop drops the received frame that it is processing. Captures show these reasons. */
    public MetricTable<T> drop(String reason, ToLongFunction<T> value, String description) {
        frameDropReasons.add(reason);
        frameDrops.add(value);
        return otherDrop(reason, value, description);
    }

    /** Adds a drop of anything else: a sent frame, a frame that was received earlier, or one that no loop received. */
    public MetricTable<T> otherDrop(String reason, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.DROP, reason, value, description);
    }

    public MetricTable<T> copy(String reason, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.COPY, reason, value, description);
    }

    public MetricTable<T> error(String name, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.ERROR, name, value, description);
    }

    public MetricTable<T> work(String name, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.WORK, name, value, description);
    }

    /** Returns the drops of received frames that an object counts. */
    public FrameDrops<T> frameDrops(T of) {
        return new FrameDrops<>(frameDropReasons, frameDrops, of);
    }

    public List<RdmaRawMetric> metrics() {
        return metrics;
    }

    public long value(T of, RdmaRawMetric metric) {
        ToLongFunction<T> value = values.get(metric);
        if (value == null) {
            throw new IllegalArgumentException(metric.name() + " is not counted here");
        }
        return value.applyAsLong(of);
    }
}
