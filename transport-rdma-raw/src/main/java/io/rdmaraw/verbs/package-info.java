/**
 * Devices and errors of libibverbs, as the settings and exceptions of channels name them.
 *
 * <p>{@link io.rdmaraw.verbs.DeviceName} is the name of a device, and {@link io.rdmaraw.verbs.VerbsException} reports a
 * failed call with its remedy. {@link io.rdmaraw.verbs.flow} has the flow rules. The binding of libibverbs
 * itself is the package {@code io.rdmaraw.verbs.objects}. It takes addresses of C structures, so the module does not
 * export it.
 */
package io.rdmaraw.verbs;
