package io.rdmaraw.channel;

import io.netty.channel.IoHandle;
import io.netty.util.internal.UnstableApi;

/** Marks the {@link IoHandle}s that {@link RdmaRawIoHandler} can drive: the channels of this transport. */
@UnstableApi
@SuppressWarnings("try") // IoHandle.close() throws Exception
public interface RdmaRawIoHandle extends IoHandle {
}
