package io.rdmaraw.metrics.internal;

import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** Which metrics a class has, and where each is read. Filled once, in a static initialiser. */
public final class MetricTable<T> {
    private final Map<RdmaRawMetric, ToLongFunction<T>> values = new LinkedHashMap<>();
    private List<RdmaRawMetric> metrics = List.of();

    /** Makes a table without metrics. */
    public MetricTable() {
        // The static initialiser of the class that counts fills it.
    }

    public MetricTable<T> add(RdmaRawMetric.Kind kind, String name, ToLongFunction<T> value, String description) {
        return add(new RdmaRawMetric(name, kind, description), value);
    }

    private MetricTable<T> add(RdmaRawMetric metric, ToLongFunction<T> value) {
        values.put(metric, value);
        metrics = List.copyOf(values.keySet());
        return this;
    }

    /** Adds what is counted once for all queues of a device. */
    public MetricTable<T> ofDevice(RdmaRawMetric.Kind kind, String name, ToLongFunction<T> value, String description) {
        return add(new RdmaRawMetric(name, kind, description, RdmaRawMetric.Scope.DEVICE), value);
    }

    public MetricTable<T> traffic(String name, ToLongFunction<T> value, String description) {
        return add(RdmaRawMetric.Kind.TRAFFIC, name, value, description);
    }

    public MetricTable<T> drop(String reason, ToLongFunction<T> value, String description) {
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
