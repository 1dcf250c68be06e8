package io.rdmaraw.kernel;

import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DefaultSocketChannelConfig;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioChannelOption;
import io.rdmaraw.net.socket.NumberedOptions;

import java.io.IOException;
import java.net.Socket;
import java.util.Map;

/**
 * The settings of a {@link KernelStreamSocket}. It accepts every option of this transport's channels. Options that the
 * JDK does not have are left out, see {@link KernelPort#ignoresOption}.
 */
final class KernelStreamSocketConfig extends DefaultSocketChannelConfig {
    /** Maps Linux's names of options to those of module {@code jdk.net}, which a runtime image may lack. */
    private static final Map<String, String> JDK_NAMES = Map.of("TCP_KEEPIDLE", "TCP_KEEPIDLE",
            "TCP_KEEPINTVL", "TCP_KEEPINTERVAL", "TCP_KEEPCNT", "TCP_KEEPCOUNT");

    private final KernelStreamSocket kernelSocket;
    /** Netty's settings of the same socket; they support the JDK's options. */
    private final SocketChannelConfig nioConfig;
    /** Null for an outgoing connection. */
    private final KernelPort portOrNull;

    KernelStreamSocketConfig(KernelStreamSocket channel, Socket socket, SocketChannelConfig nioConfig,
            KernelPort portOrNull) {
        super(channel, socket);
        kernelSocket = channel;
        this.nioConfig = nioConfig;
        this.portOrNull = portOrNull;
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return nioConfig.getOptions();
    }

    @Override
    public <T> T getOption(ChannelOption<T> option) {
        NumberedOptions.Key key = UnixOptions.keyOrNull(option);
        if (key != null) {
            return readNumbered(option, key);
        }
        return option instanceof NioChannelOption ? nioConfig.getOption(option) : super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        if (option instanceof NioChannelOption) {
            return nioConfig.setOption(option, value);
        }
        NumberedOptions.Key key = UnixOptions.keyOrNull(option);
        if (key != null) {
            validate(option, value);
            setNumbered(key, UnixOptions.encode(value));
            return true;
        }
        String jdkName = JDK_NAMES.get(option.name().substring(option.name().indexOf('#') + 1));
        if (jdkName != null && value instanceof Integer number) {
            return setJdkOption(jdkName, number);
        }
        return super.setOption(option, value) || portOrNull != null && portOrNull.ignoresOption(option);
    }

    private void setNumbered(NumberedOptions.Key key, byte[] value) {
        try {
            kernelSocket.setOption(key, value);
        } catch (IOException e) {
            throw new ChannelException(e);
        }
    }

    private <T> T readNumbered(ChannelOption<T> option, NumberedOptions.Key key) {
        try {
            return UnixOptions.decode(option, kernelSocket.option(key, UnixOptions.lengthBytes(option)));
        } catch (IOException e) {
            throw new ChannelException(e);
        }
    }

    /**
     * Sets an option by its name in {@code jdk.net}.
     *
     * @return false if the runtime image lacks that module
     */
    @SuppressWarnings("unchecked") // an option of this name has an Integer value
    private boolean setJdkOption(String name, int value) {
        for (ChannelOption<?> option : nioConfig.getOptions().keySet()) {
            if (option instanceof NioChannelOption && option.name().equals(name)) {
                return nioConfig.setOption((ChannelOption<Integer>) option, value);
            }
        }
        return false;
    }

    @Override
    protected void autoReadCleared() {
        kernelSocket.autoReadCleared();
    }
}
