package io.rdmaraw.channel;

import io.rdmaraw.verbs.FlowSpec;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * Tells the flight recorder what happens to one queue. Without a recording each call is a test or two, and nothing is
 * allocated. For the loop's thread.
 */
final class PortEvents {
    private final String device;
    private final int port;
    private long copiedBefore;
    private boolean slow;
    private long copiedAtStart;
    /** A {@link FlightRecorderEvents.SlowConsumer} that has begun, or null; no type that may be missing at run time. */
    private Object slowEvent;

    PortEvents(String device, int port) {
        this.device = device;
        this.port = port;
    }

    /** Called after each burst with the count of frames copied out until now. */
    void burst(long copiedFrames) {
        if (copiedFrames != copiedBefore || slow) {
            copying(copiedFrames);
        }
    }

    private void copying(long copiedFrames) {
        boolean copied = copiedFrames != copiedBefore;
        if (copied && !slow) {
            slow = true;
            copiedAtStart = copiedBefore;
            if (Observers.HAS_FLIGHT_RECORDER) {
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
        if (!Observers.HAS_FLIGHT_RECORDER) {
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
    void flows(QueueChannel channel, List<FlowSpec> made, int rules) {
        if (Observers.HAS_FLIGHT_RECORDER) {
            commitFlows(channel, made, rules);
        }
    }

    private void commitFlows(QueueChannel channel, List<FlowSpec> made, int rules) {
        FlightRecorderEvents.FlowChange event = new FlightRecorderEvents.FlowChange();
        if (event.shouldCommit()) {
            event.device = device;
            event.port = port;
            event.channel = channel.channel() == null ? "" : channel.channel().id().asShortText();
            event.made = made.isEmpty() ? "" : made.toString();
            event.rules = rules;
            event.commit();
        }
    }
}
