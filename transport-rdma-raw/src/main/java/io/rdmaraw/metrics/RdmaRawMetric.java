package io.rdmaraw.metrics;

/**
 * A counter or gauge of a loop, queue or channel.
 *
 * @param name        the reason for a drop or copy, such as {@code unregistered-memory}; otherwise the measured
 *                    quantity, such as {@code received.frames}
 * @param kind        the kind of quantity
 * @param description a description of one sentence
 * @param scope       whether the value belongs to one object or to the whole device
 */
public record RdmaRawMetric(String name, Kind kind, String description, Scope scope) {
    /** Creates a metric with scope {@link Scope#OWN}. */
    public RdmaRawMetric(String name, Kind kind, String description) {
        this(name, kind, description, Scope.OWN);
    }

    /** The object that a value describes. */
    public enum Scope {
        /** The loop, queue or channel that reports the value. */
        OWN,
        /**
         * The whole device: each of its queues reports the same value, so values of queues must not be added up.
         */
        DEVICE
    }

    /** The kind of quantity that a metric measures. */
    public enum Kind {
        /** Frames, datagrams or bytes received or sent. */
        TRAFFIC,
        /** Lost frames or datagrams. The name is the reason. */
        DROP,
        /** Copied frames. The name is the reason. */
        COPY,
        /** Errors and recoveries. */
        ERROR,
        /** Activity of the loop: polls, bursts, wake-ups. */
        WORK,
        /** A duration in nanoseconds. */
        NANOS,
        /** A current number, such as the number of flow rules. */
        GAUGE
    }
}
