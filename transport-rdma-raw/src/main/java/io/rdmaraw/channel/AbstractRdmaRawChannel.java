package io.rdmaraw.channel;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEvent;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.StringUtil;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;

/** What all channels of this transport have in common: that they are open, and which loop they are on. */
abstract class AbstractRdmaRawChannel extends AbstractChannel {
    private final Handle handle = new Handle();
    private IoRegistration registration;
    private volatile RdmaRawIoHandler ioHandler;
    /** The loop whose list the channel is in; null while it is in none, or its loop keeps none. */
    private RdmaRawEventLoop listedBy;
    private int placeOnLoop;
    private volatile boolean open = true;

    AbstractRdmaRawChannel(Channel parentOrNull) {
        super(parentOrNull);
    }

    @Override
    public abstract AbstractRdmaRawChannelConfig<?> config();

    @Override
    public final boolean isOpen() {
        return open;
    }

    /** The channel is closed from now on. Any thread. */
    final void markClosed() {
        open = false;
    }

    /** Returns what drives the channel's loop; null while it is on none. */
    final RdmaRawIoHandler ioHandler() {
        return ioHandler;
    }

    /** Returns the settings of the channel's group; while it is on no loop the defaults. */
    final RdmaRawIoHandlerConfig groupConfig() {
        RdmaRawIoHandler handler = ioHandler;
        return handler == null ? RdmaRawIoHandlerConfig.defaults() : handler.config();
    }

    /**
     * The channel is about to join this loop. What the returned future waits for is done before; what is thrown, or
     * fails the future, fails the registration.
     *
     * @return null when there is nothing to wait for
     */
    Future<?> prepareToJoin(RdmaRawIoHandler loop) {
        return null;
    }

    /** The channel is on this loop now. What is thrown fails the registration. */
    abstract void joinLoop(RdmaRawIoHandler loop);

    /** The registration that {@link #joinLoop} belonged to is complete, and its promise was told. */
    void registrationDone() {
    }

    /** Auto-read was switched off. Any thread. */
    final void autoReadCleared() {
        if (!isRegistered() || eventLoop().inEventLoop()) {
            stopReading();
        } else {
            eventLoop().execute(() -> {
                // On another loop by now there may have been a read since.
                if (!config().isAutoRead() && eventLoop().inEventLoop()) {
                    stopReading();
                }
            });
        }
    }

    /** The user reads no more. */
    abstract void stopReading();

    /** Returns an address that a channel of IP can use. */
    static InetSocketAddress checked(SocketAddress address) {
        if (!(address instanceof InetSocketAddress inet)) {
            throw new IllegalArgumentException("the channel has InetSocketAddresses, not a "
                    + StringUtil.simpleClassName(address));
        }
        if (inet.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return inet;
    }

    /**
     * Takes a message that was shown out of the outbound buffer. Netty passes over cancelled messages when it shows
     * them, and leaves them in their place.
     */
    static void complete(ChannelOutboundBuffer in, Object msg, Throwable failureOrNull) {
        while (in.current() != msg && in.remove()) {
            // Goes on until the message is the current one, or a listener has closed the channel.
        }
        if (failureOrNull == null) {
            in.remove();
        } else {
            in.remove(failureOrNull);
        }
    }

    /** The channel leaves its loop; a closed channel may have left it before. */
    abstract void leaveLoop();

    @Override
    protected final boolean isCompatible(EventLoop loop) {
        return loop instanceof IoEventLoop ioLoop && ioLoop.isCompatible(RdmaRawIoHandle.class);
    }

    @Override
    protected final void doRegister(ChannelPromise promise) {
        ((IoEventLoop) eventLoop()).register(handle).addListener(future -> {
            if (!future.isSuccess()) {
                promise.setFailure(future.cause());
                return;
            }
            registration = (IoRegistration) future.getNow();
            ioHandler = registration.attachment();
            prepare(promise);
        });
    }

    private void prepare(ChannelPromise promise) {
        Future<?> prepared;
        try {
            prepared = prepareToJoin(ioHandler);
        } catch (RuntimeException e) {
            failRegistration(promise, e);
            return;
        }
        if (prepared == null) {
            join(promise);
            return;
        }
        prepared.addListener(done -> {
            if (done.isSuccess()) {
                join(promise);
            } else {
                failRegistration(promise, done.cause());
            }
        });
    }

    private void join(ChannelPromise promise) {
        if (!open) {
            failRegistration(promise, new ClosedChannelException());
            return;
        }
        try {
            joinLoop(ioHandler);
        } catch (RuntimeException e) {
            failRegistration(promise, e);
            return;
        }
        if (eventLoop() instanceof RdmaRawEventLoop loop) {
            listedBy = loop;
            loop.joined(this);
        }
        promise.setSuccess();
        registrationDone();
    }

    /** Returns where the channel is in its loop's list. */
    final int placeOnLoop() {
        return placeOnLoop;
    }

    final void placeOnLoop(int place) {
        placeOnLoop = place;
    }

    /** Netty closes a channel that could not be registered, and leaves it where it is. */
    private void failRegistration(ChannelPromise promise, Throwable cause) {
        promise.setFailure(cause);
        doDeregister();
    }

    @Override
    protected final void doDeregister() {
        leaveLoop();
        if (listedBy != null) {
            listedBy.left(this);
            listedBy = null;
        }
        IoRegistration current = registration;
        if (current != null) {
            registration = null;
            ioHandler = null;
            current.cancel();
        }
    }

    /** Returns who carries what the channel sends, for the log: a device or the kernel; null while it is on no loop. */
    String carrierOrNull() {
        RdmaRawIoHandler handler = ioHandler;
        return handler == null ? null : handler.config().ipDevice();
    }

    /** As Netty's channels: the identifier and both addresses; and who carries it. */
    @Override
    public String toString() {
        String text = super.toString();
        String carrier = carrierOrNull();
        return carrier == null ? text : text.substring(0, text.length() - 1) + ", " + carrier + ']';
    }

    /** What stands for the channel at its loop; frames reach the channel another way, through a queue. */
    private final class Handle implements RdmaRawIoHandle {
        @Override
        public void handle(IoRegistration ioRegistration, IoEvent event) {
            throw new UnsupportedOperationException("a channel of this transport has no events of its own");
        }

        @Override
        public void close() {
            unsafe().close(unsafe().voidPromise());
        }
    }
}
