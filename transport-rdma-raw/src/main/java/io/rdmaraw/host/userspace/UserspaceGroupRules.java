package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.List;

/**
 * The flow rules for the multicast groups of a userspace host, which change over time. Used on the loop that drives the
 * host.
 */
final class UserspaceGroupRules {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(UserspaceGroupRules.class);

    private final DeviceQueue deviceQueue;
    private final FrameReceiver receiver;
    private FrameReceiver groupReceiver;
    private List<FlowSpec> rules = List.of();
    private boolean failureLogged;

    /** @param receiver receives the frames that match the rules */
    UserspaceGroupRules(DeviceQueue deviceQueue, FrameReceiver receiver) {
        this.deviceQueue = deviceQueue;
        this.receiver = receiver;
    }

    /** Installs the rules for a set of groups. New rules are installed before old ones are removed. */
    void steer(List<IpAddress> groups) {
        List<FlowSpec> wanted = UserspaceHostRules.ofGroups(groups);
        if (wanted.equals(rules)) {
            return;
        }
        FrameReceiver newReceiver = new GroupReceiver();
        try {
            deviceQueue.attach(newReceiver, wanted);
        } catch (VerbsException e) {
            if (!failureLogged) {
                failureLogged = true;
                LOGGER.warn("{}: queries of multicast routers for single groups are not received, because the device"
                        + " has no room for the rules: {}", deviceQueue.device().name(), e.getMessage());
            }
            return;
        }
        remove();
        groupReceiver = newReceiver;
        rules = wanted;
    }

    /** Removes the rules. */
    void remove() {
        if (groupReceiver != null) {
            deviceQueue.detach(groupReceiver);
            groupReceiver = null;
            rules = List.of();
        }
    }

    private final class GroupReceiver implements FrameReceiver {
        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            return receiver.receive(frame, checksumVerified);
        }

        @Override
        public void endBurst() {
            receiver.endBurst();
        }

        @Override
        public void onSendRoom() {
            // Never called, because this receiver does not wait for room.
        }
    }
}
