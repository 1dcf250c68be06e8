package io.rdmaraw.testsuite.leak;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A class of tests whose framework loses buffers on every transport. {@link LeakExtension} then passes over those that
 * the named handler was the last to get, untouched since: what the transport does after it has handed a buffer on
 * would be a later record.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface LostByFramework {
    /** The handler's name in the pipeline. */
    String handler();

    /** Where the framework loses them, and how that is known. */
    String reason();
}
