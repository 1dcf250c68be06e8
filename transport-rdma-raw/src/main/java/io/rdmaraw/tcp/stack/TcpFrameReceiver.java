package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.queue.ReceiveBurst;

/** What the rules of one port or connection lead to on one loop: the stack. For the loop's thread. */
class TcpFrameReceiver implements FrameReceiver {
    private final TcpStack stack;

    TcpFrameReceiver(TcpStack stack) {
        this.stack = stack;
    }

    TcpStack stack() {
        return stack;
    }

    @Override
    public String label() {
        return stack.label();
    }

    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        return stack.receive(frame, checksumVerified);
    }

    @Override
    public int receiveRun(ReceiveBurst burst, int from, int end) {
        return stack.receiveRun(burst, from, end);
    }

    @Override
    public boolean isInBurst() {
        return stack.isInBurst();
    }

    @Override
    public void endBurst() {
        stack.endBurst();
    }

    @Override
    public void sendQueueHasRoom() {
        stack.sendQueueHasRoom();
    }
}
