package io.rdmaraw.metrics;

/**
 * A counter or gauge of a loop, queue or channel.
 *
 * @param name  of a drop or a copy the reason, such as {@code unregistered-memory}; else what is counted, such as
 *              {@code received.frames}
 * @param kind  what it measures
 * @param description one sentence
 * @param scope whether each queue of a device tells the same
 */
public record RdmaRawMetric(String name, Kind kind, String description, Scope scope) {
    /** Makes a metric of the loop, queue or channel that has it. */
    public RdmaRawMetric(String name, Kind kind, String description) {
        this(name, kind, description, Scope.OWN);
    }

    /** What a metric is of. */
    public enum Scope {
        /** Of the loop, queue or channel that has it. */
        OWN,
        /** Of a whole device: every queue on it tells the same value, so a sum over queues is too large. */
        DEVICE
    }

    /** What a metric measures. */
    public enum Kind {
        /** Frames, datagrams or bytes that were received or sent. */
        TRAFFIC,
        /** Frames or datagrams that were lost; the name is the reason. */
        DROP,
        /** Frames that were copied; the name is the reason. */
        COPY,
        /** Errors, and recoveries from them. */
        ERROR,
        /** Polls, bursts, wake-ups: how the loop works. */
        WORK,
        /** Nanoseconds. */
        NANOS,
        /** A gauge: what there is now, such as flow rules. */
        LEVEL
    }
}
