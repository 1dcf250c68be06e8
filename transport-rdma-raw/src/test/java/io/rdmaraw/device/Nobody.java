package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;

/** Has rules, and no use for what they bring. */
final class Nobody implements FrameReceiver {
    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        frame.release();
        return false;
    }

    @Override
    public void endBurst() {
    }

    @Override
    public void sendQueueHasRoom() {
    }
}
