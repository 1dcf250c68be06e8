package io.rdmaraw.channel;

import io.rdmaraw.ffi.Errno;

import java.io.IOException;

/** The cause of a failed write if the device rejected the frame. The frame was not sent. The channel stays open. */
public final class SendRefusedException extends IOException {
    private static final long serialVersionUID = 1;

    private SendRefusedException(String message) {
        super(message);
    }

    static SendRefusedException of(int errno) {
        return new SendRefusedException("ibv_post_send refused the frame with " + Errno.name(errno)
                + "; see the device's limits with `rdma-raw devinfo`");
    }
}
