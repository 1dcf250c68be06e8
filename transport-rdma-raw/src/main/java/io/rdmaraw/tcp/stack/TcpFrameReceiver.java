package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.queue.ReceiveBurst;

/**
 * Receives the frames for the flow rules of one port or connection on one loop and passes them to the stack. Used on
 * the loop's thread only.
 */
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
    public FrameDrops<?> frameDrops() {
        return stack.frameDrops();
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
    public boolean queuesOnly() {
        return true;
    }

    @Override
    public void endBurst() {
        stack.endBurst();
    }

    @Override
    public void onSendRoom() {
        stack.onSendRoom();
    }
}
