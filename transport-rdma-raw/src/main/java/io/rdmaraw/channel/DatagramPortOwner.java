package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IcmpErrorKind;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * A datagram channel as its userspace host sees it. What the host hands over comes on the loop that the channel was on
 * when it was sent on its way; what comes after the channel has gone to another loop follows it there.
 */
final class DatagramPortOwner implements PortOwner {
    private static final Executor REFUSING = task -> {
        throw new RejectedExecutionException("the channel is on no loop");
    };

    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private final DatagramReceiver receiver;
    private final DatagramInbox inbox;

    DatagramPortOwner(RdmaRawDatagramChannel channel, DatagramReceiver receiver, DatagramInbox inbox) {
        this.channel = channel;
        this.receiver = receiver;
        this.inbox = inbox;
        statistics = channel.statistics();
    }

    @Override
    public Executor loop() {
        return channel.isRegistered() ? channel.eventLoop() : REFUSING;
    }

    /** Has something done on the loop that the channel has gone to, or {@code dropped} when it is on none or closed. */
    private void passOn(Runnable action, Runnable dropped) {
        if (!channel.isOpen() || channel.eventLoop().inEventLoop()) {
            dropped.run();
        } else {
            LoopTasks.executeOrElse(channel.eventLoop(), action, dropped);
        }
    }

    private boolean isHere() {
        return channel.isOpen() && channel.isOnThisLoop();
    }

    @Override
    public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
        if (!isHere()) {
            passOn(() -> receiveUnsteered(frame, checksumVerified), frame::release);
            return;
        }
        if (EthernetHeader.isGroup(EthernetHeader.destination(BufferAddress.of(frame)))
                && !statistics.coarselySteered) {
            // The host's copy of what the channel's own rule for the group has brought.
            frame.release();
            return;
        }
        statistics.receivedUnsteered++;
        if (receiver.receive(frame, checksumVerified)) {
            inbox.endBurst();
        }
    }

    @Override
    public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
        if (!isHere()) {
            passOn(() -> receiveReassembled(packet, source, destination), packet::release);
        } else if (receiver.receiveReassembled(packet, source, destination)) {
            inbox.endBurst();
        }
    }

    @Override
    public void icmpError(IcmpError error) {
        if (!isHere()) {
            passOn(() -> icmpError(error), () -> { });
        } else if (error.kind() == IcmpErrorKind.PORT_UNREACHABLE) {
            receiver.reportPortUnreachable();
        } else if (error.kind() == IcmpErrorKind.PACKET_TOO_BIG && error.nextHopMtuBytes() > 0) {
            channel.pathTooBig(error.destination(), error.nextHopMtuBytes());
        }
    }
}
