package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/** What a port's rules lead to on one loop: the stack. For the loop's thread. */
class TcpSteering implements QueueChannel {
    private final TcpStack stack;

    TcpSteering(TcpStack stack) {
        this.stack = stack;
    }

    TcpStack stack() {
        return stack;
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
        return stack.ownRules() == this ? stack.counters() : null;
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
        // TCP sends again what was lost.
    }

    @Override
    public void queueGone() {
        if (stack.ownRules() == this) {
            stack.queueGone();
        }
    }
}
