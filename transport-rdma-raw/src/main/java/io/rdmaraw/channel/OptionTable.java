package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Which options the channels of a kind have beside those of all channels, and where each is read and set. Filled once,
 * in a static initialiser.
 *
 * @param <C> the channels' settings
 */
final class OptionTable<C> {
    private record Setting<C, T>(Function<C, T> getter, BiConsumer<C, T> setter) {
    }

    private final Map<ChannelOption<?>, Setting<C, ?>> settings = new LinkedHashMap<>();
    private ChannelOption<?>[] options = {};

    <T> OptionTable<C> with(ChannelOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        settings.put(option, new Setting<>(getter, setter));
        options = settings.keySet().toArray(ChannelOption[]::new);
        return this;
    }

    /** Returns the options, in the order they were added. */
    ChannelOption<?>[] options() {
        return options;
    }

    boolean has(ChannelOption<?> option) {
        return settings.containsKey(option);
    }

    <T> T get(C config, ChannelOption<T> option) {
        return this.<T>setting(option).getter().apply(config);
    }

    <T> void set(C config, ChannelOption<T> option, T value) {
        this.<T>setting(option).setter().accept(config, value);
    }

    /** An option and its setting are of one type: {@link #with} is the only way in. */
    @SuppressWarnings("unchecked")
    private <T> Setting<C, T> setting(ChannelOption<T> option) {
        return (Setting<C, T>) settings.get(option);
    }
}
