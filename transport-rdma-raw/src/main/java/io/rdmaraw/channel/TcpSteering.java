package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/**
 * A port that was taken, with the rules that steer its segments to a stack. They stay as long as anybody lives by them:
 * the listener and every connection that it accepted, or the one connection that was opened from the port. For the
 * loop's thread.
 */
final class TcpSteering implements QueueChannel {
    private final TcpStack stack;
    private final PortQueue port;
    private final TcpNetwork.Binding bindingOrNull;
    private int users = 1;

    TcpSteering(TcpStack stack, PortQueue port, TcpNetwork.Binding bindingOrNull) {
        this.stack = stack;
        this.port = port;
        this.bindingOrNull = bindingOrNull;
    }

    TcpNetwork.Binding binding() {
        return bindingOrNull;
    }

    void retain() {
        users++;
    }

    /** Tells whether there is one user only. */
    boolean isLast() {
        return users == 1;
    }

    void release() {
        if (--users == 0) {
            close();
        }
    }

    void close() {
        port.detach(this);
        if (bindingOrNull != null) {
            bindingOrNull.close();
        }
    }

    @Override
    public Channel channel() {
        return null;
    }

    @Override
    public String label() {
        return "tcp";
    }

    /** The stack's own rules stand for all of it. */
    @Override
    public RdmaRawMetered statistics() {
        return bindingOrNull == null ? stack.counters() : null;
    }

    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        return stack.receive(frame, checksumVerified);
    }

    @Override
    public void endBurst() {
        stack.endBurst();
    }

    @Override
    public void sendQueueHasRoom() {
        stack.sendQueueHasRoom();
    }

    @Override
    public void queueEvent(RdmaRawQueueEvent event) {
        // The stack's own rules tell it, once.
        if (bindingOrNull == null) {
            stack.queueEvent(event);
        }
    }

    @Override
    public void queueGone() {
        if (bindingOrNull == null) {
            stack.queueGone();
        }
    }
}
