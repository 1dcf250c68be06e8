package io.rdmaraw.channel;

import io.netty.channel.IoHandle;

/** An {@link IoHandle} of this transport. */
@SuppressWarnings("try") // IoHandle.close() throws Exception
public interface RdmaRawIoHandle extends IoHandle {
}
