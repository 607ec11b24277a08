#ifndef CORE_TESTING_SANITIZERS_H_
#define CORE_TESTING_SANITIZERS_H_

namespace reprise::testing {

// Whether this program, and those built with it, reserve terabytes of addresses for a sanitizer's shadow memory. If so,
// limits of the address space cannot be tested.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasShadowMemory = true;
#else
inline constexpr bool kHasShadowMemory = false;
#endif

// Whether it is the thread sanitizer. A program then writes a file when it starts, and receives a signal when the
// thread next calls the C library, which may be never.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

}  // namespace reprise::testing

#endif  // CORE_TESTING_SANITIZERS_H_
