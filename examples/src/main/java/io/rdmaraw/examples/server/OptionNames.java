package io.rdmaraw.examples.server;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.function.Function;
import java.util.stream.Stream;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * The names of the values of an option, for picocli's completion and conversion. A command refers to a subclass with a
 * constructor without parameters.
 *
 * @param <T> type of the values
 */
public abstract class OptionNames<T> extends ArrayList<String> implements ITypeConverter<T> {
    private static final long serialVersionUID = 1L;

    private final transient T[] values;
    private final transient Function<T, String> nameOf;

    /**
     * Creates the names.
     *
     * @param nameOf returns the name of a value
     */
    protected OptionNames(T[] values, Function<T, String> nameOf) {
        super(Stream.of(values).map(nameOf).toList());
        this.values = values;
        this.nameOf = nameOf;
    }

    @Override
    public final T convert(String name) {
        return Arrays.stream(values).filter(each -> nameOf.apply(each).equals(name)).findFirst()
                .orElseThrow(() -> new TypeConversionException('\'' + name + "' is none of "
                        + String.join(", ", this)));
    }
}
