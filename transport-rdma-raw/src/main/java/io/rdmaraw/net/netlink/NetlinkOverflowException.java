package io.rdmaraw.net.netlink;

import java.io.IOException;

/** The kernel had more notifications than the socket could hold: what is known must be asked for anew. */
final class NetlinkOverflowException extends IOException {
    private static final long serialVersionUID = 1;

    NetlinkOverflowException() {
        super("rtnetlink dropped notifications");
    }
}
