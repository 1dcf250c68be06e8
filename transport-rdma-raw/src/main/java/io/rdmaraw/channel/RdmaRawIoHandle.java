package io.rdmaraw.channel;

import io.netty.channel.IoHandle;
import io.netty.util.internal.UnstableApi;

/** An {@link IoHandle} of this transport. */
@UnstableApi
@SuppressWarnings("try") // IoHandle.close() throws Exception
public interface RdmaRawIoHandle extends IoHandle {
}
