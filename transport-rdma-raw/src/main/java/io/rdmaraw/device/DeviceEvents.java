package io.rdmaraw.device;

import io.rdmaraw.metrics.internal.FlightRecorderEvents;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * Tells the flight recorder what happens to one queue. Without a recording each call is a test or two, and nothing is
 * allocated. For the loop's thread.
 */
public final class DeviceEvents {
    private final String device;
    private final int port;
    private long copiedBefore;
    private boolean slow;
    private long copiedAtStart;
    /** A {@link FlightRecorderEvents.SlowConsumer} that has begun, or null; no type that may be missing at run time. */
    private Object slowEvent;

    public DeviceEvents(String device, int port) {
        this.device = device;
        this.port = port;
    }

    /** Called after each burst with the count of frames copied out until now. */
    public void burst(long copiedFrames) {
        if (copiedFrames != copiedBefore || slow) {
            copying(copiedFrames);
        }
    }

    private void copying(long copiedFrames) {
        boolean copied = copiedFrames != copiedBefore;
        if (copied && !slow) {
            slow = true;
            copiedAtStart = copiedBefore;
            if (MetricsExporters.HAS_FLIGHT_RECORDER) {
                slowEvent = beginSlowConsumer();
            }
        } else if (!copied) {
            slow = false;
            if (slowEvent != null) {
                endSlowConsumer(copiedFrames - copiedAtStart);
            }
        }
        copiedBefore = copiedFrames;
    }

    private static Object beginSlowConsumer() {
        FlightRecorderEvents.SlowConsumer event = new FlightRecorderEvents.SlowConsumer();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    private void endSlowConsumer(long copiedFrames) {
        FlightRecorderEvents.SlowConsumer event = (FlightRecorderEvents.SlowConsumer) slowEvent;
        slowEvent = null;
        event.device = device;
        event.port = port;
        event.copiedFrames = copiedFrames;
        event.commit();
    }

    /** Recovers a queue, which returns the frames that were lost; the event lasts as long. */
    long recovery(LongSupplier recover) {
        if (!MetricsExporters.HAS_FLIGHT_RECORDER) {
            return recover.getAsLong();
        }
        FlightRecorderEvents.QueueRecovery event = new FlightRecorderEvents.QueueRecovery();
        event.begin();
        event.lostFrames = recover.getAsLong();
        event.device = device;
        event.port = port;
        event.commit();
        return event.lostFrames;
    }

    /** @param made rules that a channel got; none when it has left */
    void flows(FrameReceiver channel, List<FlowSpec> made, int rules) {
        if (MetricsExporters.HAS_FLIGHT_RECORDER) {
            commitFlows(channel, made, rules);
        }
    }

    private void commitFlows(FrameReceiver channel, List<FlowSpec> made, int rules) {
        FlightRecorderEvents.FlowChange event = new FlightRecorderEvents.FlowChange();
        if (event.shouldCommit()) {
            event.device = device;
            event.port = port;
            event.channel = channel.id();
            event.made = made.isEmpty() ? "" : made.toString();
            event.rules = rules;
            event.commit();
        }
    }
}
