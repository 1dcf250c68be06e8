package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.DatagramChannel;
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
 * Connects a datagram channel to its userspace host. The host calls on the loop that the channel had when the call was
 * queued. If the channel has moved since, the call is passed on to its new loop.
 */
final class DatagramPortOwner implements PortOwner {
    private static final Executor REJECTING = task -> {
        throw new RejectedExecutionException("the channel is on no loop");
    };

    private final DatagramEndpoint endpoint;
    private final DatagramChannel channel;
    private final DatagramReceiver receiver;
    private final DatagramSink sink;

    DatagramPortOwner(DatagramEndpoint endpoint, DatagramReceiver receiver, DatagramSink sink) {
        this.endpoint = endpoint;
        this.receiver = receiver;
        this.sink = sink;
        channel = endpoint.channel();
    }

    @Override
    public Executor loop() {
        return channel.isRegistered() ? channel.eventLoop() : REJECTING;
    }

    /**
     * Runs an action on the channel's new loop. Runs {@code dropped} instead if the channel is closed or on no loop.
     */
    private void forward(Runnable action, Runnable dropped) {
        if (!channel.isOpen() || channel.eventLoop().inEventLoop()) {
            dropped.run();
        } else {
            LoopTasks.executeOrElse(channel.eventLoop(), action, dropped);
        }
    }

    private boolean isOpenAndInEventLoop() {
        return channel.isOpen() && endpoint.isRegisteredAndInEventLoop();
    }

    @Override
    public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
        if (!isOpenAndInEventLoop()) {
            forward(() -> receiveUnsteered(frame, checksumVerified), frame::release);
            return;
        }
        if (EthernetHeader.isGroup(EthernetHeader.destination(BufferAddress.of(frame)))
                && !endpoint.counters().coarselySteered) {
            // The channel's own flow rule for the group has delivered this frame already.
            frame.release();
            return;
        }
        endpoint.counters().receivedUnsteered++;
        if (receiver.receive(frame, checksumVerified)) {
            sink.endBurst();
        }
    }

    @Override
    public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
        if (!isOpenAndInEventLoop()) {
            forward(() -> receiveReassembled(packet, source, destination), packet::release);
        } else if (receiver.receiveReassembled(packet, source, destination)) {
            sink.endBurst();
        }
    }

    @Override
    public void onIcmpError(IcmpError error) {
        if (!isOpenAndInEventLoop()) {
            forward(() -> onIcmpError(error), () -> { });
        } else if (error.kind() == IcmpErrorKind.PACKET_TOO_BIG && error.nextHopMtuBytes() > 0) {
            endpoint.reducePathMtu(error.destination(), error.nextHopMtuBytes());
        } else {
            receiver.reportIcmp(error.kind(), error.destination(), error.destinationPort());
        }
    }
}
