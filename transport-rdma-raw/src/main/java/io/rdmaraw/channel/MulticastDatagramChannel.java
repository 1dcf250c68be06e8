package io.rdmaraw.channel;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DatagramChannel;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IpAddress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.ClosedChannelException;

/** Maps Netty's overloads of join, leave and block to {@link #changeGroup}. */
abstract class MulticastDatagramChannel extends AbstractRdmaRawChannel implements DatagramChannel {
    MulticastDatagramChannel() {
        super(null);
    }

    @Override
    public abstract RdmaRawDatagramChannelConfig config();

    @Override
    public abstract InetSocketAddress localAddress();

    @Override
    public abstract InetSocketAddress remoteAddress();

    /** Changes a membership. Called on the channel's loop. */
    abstract void changeGroup(GroupChange change) throws IOException;

    /**
     * Returns whether the channel is registered and the calling thread is that of its loop. False on the loop's thread
     * if the channel has left that loop.
     */
    abstract boolean isRegisteredAndInEventLoop();

    private ChannelFuture change(GroupChange.Kind kind, InetAddress group, NetworkInterface interfaceOrNull,
                                 InetAddress sourceOrNull, ChannelPromise promise) {
        GroupChange change = new GroupChange(kind, IpAddress.of(ObjectUtil.checkNotNull(group, "multicastAddress")),
                interfaceOrNull, sourceOrNull == null ? null : IpAddress.of(sourceOrNull));
        changeOnLoop(change, promise);
        return promise;
    }

    /**
     * Changes a membership on the channel's loop. The channel may move while the task is queued, so the task checks the
     * loop again.
     */
    private void changeOnLoop(GroupChange change, ChannelPromise promise) {
        if (!isOpen()) {
            promise.setFailure(new ClosedChannelException());
        } else if (isRegisteredAndInEventLoop()) {
            changeNow(change, promise);
        } else if (!eventLoop().inEventLoop()) {
            LoopTasks.executeOrElse(eventLoop(), () -> changeOnLoop(change, promise),
                    () -> promise.setFailure(offLoopException(change)));
        } else {
            promise.setFailure(offLoopException(change));
        }
    }

    private static IllegalStateException offLoopException(GroupChange change) {
        return new IllegalStateException("the membership of " + change.group()
                + " cannot change while the channel is on no loop: register the channel first");
    }

    private void changeNow(GroupChange change, ChannelPromise promise) {
        try {
            changeGroup(change);
            promise.setSuccess();
        } catch (RuntimeException | IOException e) {
            promise.setFailure(e);
        }
    }

    @Override
    public final ChannelFuture joinGroup(InetAddress multicastAddress) {
        return joinGroup(multicastAddress, newPromise());
    }

    @Override
    public final ChannelFuture joinGroup(InetAddress multicastAddress, ChannelPromise future) {
        return change(GroupChange.Kind.JOIN, multicastAddress, null, null, future);
    }

    @Override
    public final ChannelFuture joinGroup(InetSocketAddress multicastAddress, NetworkInterface networkInterface) {
        return joinGroup(multicastAddress, networkInterface, newPromise());
    }

    @Override
    public final ChannelFuture joinGroup(InetSocketAddress multicastAddress, NetworkInterface networkInterface,
                                         ChannelPromise future) {
        return joinGroup(multicastAddress.getAddress(), networkInterface, null, future);
    }

    @Override
    public final ChannelFuture joinGroup(InetAddress multicastAddress, NetworkInterface networkInterface,
                                         InetAddress source) {
        return joinGroup(multicastAddress, networkInterface, source, newPromise());
    }

    @Override
    public final ChannelFuture joinGroup(InetAddress multicastAddress, NetworkInterface networkInterface,
                                         InetAddress source, ChannelPromise future) {
        ObjectUtil.checkNotNull(networkInterface, "networkInterface");
        return change(GroupChange.Kind.JOIN, multicastAddress, networkInterface, source, future);
    }

    @Override
    public final ChannelFuture leaveGroup(InetAddress multicastAddress) {
        return leaveGroup(multicastAddress, newPromise());
    }

    @Override
    public final ChannelFuture leaveGroup(InetAddress multicastAddress, ChannelPromise future) {
        return change(GroupChange.Kind.LEAVE, multicastAddress, null, null, future);
    }

    @Override
    public final ChannelFuture leaveGroup(InetSocketAddress multicastAddress, NetworkInterface networkInterface) {
        return leaveGroup(multicastAddress, networkInterface, newPromise());
    }

    @Override
    public final ChannelFuture leaveGroup(InetSocketAddress multicastAddress, NetworkInterface networkInterface,
                                          ChannelPromise future) {
        return leaveGroup(multicastAddress.getAddress(), networkInterface, null, future);
    }

    @Override
    public final ChannelFuture leaveGroup(InetAddress multicastAddress, NetworkInterface networkInterface,
                                          InetAddress source) {
        return leaveGroup(multicastAddress, networkInterface, source, newPromise());
    }

    @Override
    public final ChannelFuture leaveGroup(InetAddress multicastAddress, NetworkInterface networkInterface,
                                          InetAddress source, ChannelPromise future) {
        ObjectUtil.checkNotNull(networkInterface, "networkInterface");
        return change(GroupChange.Kind.LEAVE, multicastAddress, networkInterface, source, future);
    }

    @Override
    public final ChannelFuture block(InetAddress multicastAddress, NetworkInterface networkInterface,
                                     InetAddress sourceToBlock) {
        return block(multicastAddress, networkInterface, sourceToBlock, newPromise());
    }

    @Override
    public final ChannelFuture block(InetAddress multicastAddress, NetworkInterface networkInterface,
                                     InetAddress sourceToBlock, ChannelPromise future) {
        ObjectUtil.checkNotNull(networkInterface, "networkInterface");
        ObjectUtil.checkNotNull(sourceToBlock, "sourceToBlock");
        return change(GroupChange.Kind.BLOCK, multicastAddress, networkInterface, sourceToBlock, future);
    }

    @Override
    public final ChannelFuture block(InetAddress multicastAddress, InetAddress sourceToBlock) {
        return block(multicastAddress, sourceToBlock, newPromise());
    }

    @Override
    public final ChannelFuture block(InetAddress multicastAddress, InetAddress sourceToBlock, ChannelPromise future) {
        ObjectUtil.checkNotNull(sourceToBlock, "sourceToBlock");
        return change(GroupChange.Kind.BLOCK, multicastAddress, null, sourceToBlock, future);
    }
}
