package io.rdmaraw.channel;

/**
 * One thing that is counted, from the start of what counts it to its end.
 *
 * @param name  of a drop or a copy the reason, such as {@code unregistered-memory}; else what is counted, such as
 *              {@code received.frames}
 * @param kind  what the count tells
 * @param description one sentence
 */
public record RdmaRawMetric(String name, Kind kind, String description) {
    /** What a count tells. */
    public enum Kind {
        /** Frames, datagrams or bytes that went their way. */
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
        /** What there is now, such as flow rules; goes down as well. */
        LEVEL
    }
}
