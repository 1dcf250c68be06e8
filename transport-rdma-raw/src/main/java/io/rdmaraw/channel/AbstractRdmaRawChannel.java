package io.rdmaraw.channel;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEvent;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.StringUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.net.socket.NumberedOptions;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;

/** The base of all channels of this transport: their open state and their registration with an event loop. */
abstract class AbstractRdmaRawChannel extends AbstractChannel {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(AbstractRdmaRawChannel.class);

    private final Handle handle = new Handle();
    private IoRegistration registration;
    private volatile RdmaRawIoHandler ioHandler;
    /** Loop that lists this channel; null if there is none. */
    private RdmaRawEventLoop trackingLoop;
    private int indexInLoop;
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

    /** Marks the channel as closed. Can be called on any thread. */
    final void markClosed() {
        open = false;
    }

    /** Returns the I/O handler of the channel's loop; null while the channel is on no loop. */
    final RdmaRawIoHandler ioHandler() {
        return ioHandler;
    }

    /**
     * Returns the I/O handler of the channel's loop, for calls that need the loop's queues.
     *
     * @throws IllegalStateException if the channel is on no loop
     */
    final RdmaRawIoHandler requireIoHandler() {
        RdmaRawIoHandler handler = ioHandler;
        if (handler == null) {
            throw new IllegalStateException("the channel is on no loop: register it first");
        }
        return handler;
    }

    /**
     * Returns the configuration of the channel's group, or the default configuration while the channel is on no loop.
     */
    final RdmaRawIoHandlerConfig groupConfig() {
        RdmaRawIoHandler handler = ioHandler;
        return handler == null ? RdmaRawIoHandlerConfig.defaults() : handler.config();
    }

    /**
     * Prepares the channel for a loop. The channel joins the loop when the returned future is complete. The
     * registration fails if this method throws or the future fails.
     *
     * @return null if the channel can join immediately
     */
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        return null;
    }

    /** Joins a loop. The registration fails if this method throws. */
    abstract void joinLoop(RdmaRawIoHandler handler) throws IOException;

    /** Called after the promise of the registration that called {@link #joinLoop} has been completed. */
    void registrationDone() {
    }

    /** Stops reading after auto-read was switched off. Can be called on any thread. */
    final void autoReadCleared() {
        if (!isRegistered() || eventLoop().inEventLoop()) {
            stopReading();
        } else {
            eventLoop().execute(() -> {
                // The channel may have moved to another loop and a read may have been requested since.
                if (!config().isAutoRead() && eventLoop().inEventLoop()) {
                    stopReading();
                }
            });
        }
    }

    /**
     * Sets an option on the kernel's socket behind the channel, if the socket is open. Can be called on any thread.
     *
     * @throws IOException if the kernel rejects the option
     */
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
    }

    /** Withdraws a pending read. Called on the loop, or before the channel is registered. */
    abstract void stopReading();

    /**
     * Returns an address as a resolved {@link InetSocketAddress}.
     *
     * @throws IllegalArgumentException if the address is of another type
     * @throws UnresolvedAddressException if the address is unresolved
     */
    static InetSocketAddress requireResolved(SocketAddress address) {
        if (!(address instanceof InetSocketAddress inet)) {
            throw new IllegalArgumentException("the channel has InetSocketAddresses, not a "
                    + StringUtil.simpleClassName(address));
        }
        if (inet.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return inet;
    }

    /** Leaves the loop. May be called again for a closed channel that has left before. */
    abstract void leaveLoop();

    /** Logs the remedy, because the message of Netty's exception has only the class of the loop. */
    @Override
    protected final boolean isCompatible(EventLoop loop) {
        boolean compatible = loop instanceof IoEventLoop ioLoop && ioLoop.isCompatible(RdmaRawIoHandle.class);
        if (!compatible) {
            LOGGER.warn("{} cannot be registered with {}: give the bootstrap an RdmaRawEventLoopGroup, or the channel"
                    + " class of the other transport", StringUtil.simpleClassName(this),
                    StringUtil.simpleClassName(loop));
        }
        return compatible;
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
        } catch (IOException | RuntimeException e) {
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
        } catch (IOException | RuntimeException e) {
            failRegistration(promise, e);
            return;
        }
        if (eventLoop() instanceof RdmaRawEventLoop loop) {
            trackingLoop = loop;
            loop.addChannel(this);
        }
        promise.setSuccess();
        registrationDone();
    }

    /** Returns the index of the channel in its loop's list. */
    final int indexInLoop() {
        return indexInLoop;
    }

    final void indexInLoop(int index) {
        indexInLoop = index;
    }

    /** Fails a registration. Netty closes the channel then but does not deregister it. */
    private void failRegistration(ChannelPromise promise, Throwable cause) {
        promise.setFailure(cause);
        doDeregister();
    }

    @Override
    protected final void doDeregister() {
        leaveLoop();
        if (trackingLoop != null) {
            trackingLoop.removeChannel(this);
            trackingLoop = null;
        }
        IoRegistration current = registration;
        if (current != null) {
            registration = null;
            ioHandler = null;
            current.cancel();
        }
    }

    /**
     * Returns the carrier of the channel's traffic for the log: the device name or "kernel". Null while the channel is
     * on no loop.
     */
    String carrierOrNull() {
        RdmaRawIoHandler handler = ioHandler;
        return handler == null ? null : handler.config().device();
    }

    /** Returns the text of Netty's channels, which has the id and both addresses, followed by the carrier. */
    @Override
    public String toString() {
        String text = super.toString();
        String carrier = carrierOrNull();
        return carrier == null ? text : text.substring(0, text.length() - 1) + ", " + carrier + ']';
    }

    /**
     * Represents the channel at its loop's I/O handler. Frames reach the channel through its queue, not through this
     * handle.
     */
    private final class Handle implements RdmaRawIoHandle {
        @Override
        public void handle(IoRegistration ioRegistration, IoEvent event) {
            throw new UnsupportedOperationException("channels of this transport do not support I/O events");
        }

        @Override
        public void close() {
            unsafe().close(unsafe().voidPromise());
        }
    }
}
